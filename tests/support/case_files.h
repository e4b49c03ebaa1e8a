/*
 * support/case_files.h - the files of tests/cases in unit tests of serdes.
 *
 * What is returned belongs to the fixture. Whatever is missing fails the test.
 */
#ifndef SUPPORT_CASE_FILES_H
#define SUPPORT_CASE_FILES_H

#include "support/plugin_fixture.h"

/* A file by its path below tests/cases; NUL-terminated behind `size`. */
flow_slice case_file(fixture *f, const char *path);
/* JSON lines (or one document over several lines with `whole`) in the notation of batch_print: numbers keep their digits. */
const char *case_json(fixture *f, const char *path, int whole);

/* Fails the test unless the rejections are exactly those of the file. */
void case_check_rejections(fixture_rows *rows, const char *path);

#endif
