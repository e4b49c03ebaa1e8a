/*
 * host/report.h - a run's figures: as JSON (status file, --json) and as the summary at the end.
 */
#ifndef HOST_REPORT_H
#define HOST_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "runtime/runtime.h"

/* A new reference; NULL: out of memory. `outcome` 0 while it runs. */
json_t *report_json(const plan *p, const runtime_status_report *report, uint32_t outcome);
/* The same, printed with a line's end. */
void report_print_json(const plan *p, const runtime_status_report *report, uint32_t outcome, FILE *to);
/* Lines about records that went another way, where there are any: skipped, dead letters, late. */
void report_losses(const runtime_status_report *report, FILE *to);
/* For people: a line per operator, totals, and the first lines of each result that is a text file. */
void report_summary(const plan *p, const runtime_status_report *report, uint32_t outcome, FILE *to);

#endif
