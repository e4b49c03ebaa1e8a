/* regex: named groups and known patterns, types and times, lines that do not match, and patterns without end. */
#include <string.h>

#include "base/error.h"
#include "support/line_trials.h"
#include "support/serde_trials.h"

#define OPTIONS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void
check_rows(fixture *f, const char *pattern, const char *const *more, const char *text, const char *expected)
{
	const char *options[16] = { trial_assignment(f, "pattern", pattern) };
	for (size_t i = 0; more != NULL && more[i] != NULL; i++)
		options[i + 1] = more[i];
	trial_rows_are("regex", options, text, expected);
}

static void
check_rejected(fixture *f, const char *pattern, const char *more, const char *text, flow_status status,
			   const char *field, const char *reason)
{
	trial_rejected("regex", OPTIONS(trial_assignment(f, "pattern", pattern), more), text, status, field, reason);
}

static void
named_groups_are_the_fields_in_their_order(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	check_rows(f, "(?<z>\\w+)=(?<a>\\d+)", OPTIONS("fields.a=int64"), "x=1\ny=22\r\n",
			   "{\"z\":\"x\",\"a\":1}\n{\"z\":\"y\",\"a\":22}\n");
	check_rows(f, "(?<a>x)?(?<b>y)?", NULL, "x\ny\n\n",
			   "{\"a\":\"x\",\"b\":null}\n{\"a\":null,\"b\":\"y\"}\n{\"a\":null,\"b\":null}\n");
	check_rows(f, "n=(?<n>\\d+)|m=(?<n>\\w+)", NULL, "n=1\nm=b\n",
			   "{\"n\":\"1\"}\n{\"n\":\"b\"}\n"); /* one name, two groups */
	check_rows(f, "\\[(?<a>.*?)\\]", OPTIONS("match=anywhere"), "b [x] [y]\n", "{\"a\":\"x\"}\n");
	check_rows(f, "(?<a>\\S+) \\%{(?<b>.)", NULL, "\xC3\xA9 %{\xE2\x82\xAC\n",
			   "{\"a\":\"\xC3\xA9\",\"b\":\"\xE2\x82\xAC\"}\n");
	fixture_destroy(f);
}

static void
references_stand_for_patterns(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	check_rows(f, "%{WORD:verb} %{NUMBER:n:float} %{INT:i:int}?", NULL, "get 1.5 7\nput -2 \n",
			   "{\"verb\":\"get\",\"n\":1.5,\"i\":7}\n{\"verb\":\"put\",\"n\":-2.0,\"i\":null}\n");
	check_rows(f, "%{ORDER:order:string} %{PRICE}",
			   OPTIONS("patterns.ORDER=\"[A-Z]{2}%{POSINT}\"", "patterns.PRICE=\"%{NUMBER:price:decimal}\""),
			   "AB12 3.50\n", "{\"order\":\"AB12\",\"price\":3.50}\n");
	fixture_destroy(f);
}

static void
the_usual_logs_are_known(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	check_rows(f, "%{COMBINEDAPACHELOG}",
			   OPTIONS("fields.response=int32?", "fields.bytes=int64?", "fields.timestamp=timestamp",
					   "times.timestamp=\"%d/%b/%Y:%H:%M:%S %z\""),
			   "203.0.113.9 - frank [10/Oct/2000:13:55:36 -0700] \"GET /a.gif?x=\\\"1 HTTP/1.0\" 200 2326 "
			   "\"http://e.org/\" \"Mozilla (a; b)\"\n"
			   "::1 - - [01/Jan/2024:00:00:00 +0000] \"-\" 408 - \"-\" \"-\"\n",
			   "{\"clientip\":\"203.0.113.9\",\"ident\":\"-\",\"auth\":\"frank\",\"timestamp\":\"2000-10-10T20:55:"
			   "36Z\",\"verb\":\"GET\","
			   "\"request\":\"/"
			   "a.gif?x=\\\\\\\"1\",\"httpversion\":\"1.0\",\"rawrequest\":null,\"response\":200,\"bytes\":2326,"
			   "\"referrer\":\"\\\"http://e.org/\\\"\",\"agent\":\"\\\"Mozilla (a; b)\\\"\"}\n"
			   "{\"clientip\":\"::1\",\"ident\":\"-\",\"auth\":\"-\",\"timestamp\":\"2024-01-01T00:00:00Z\",\"verb\":"
			   "null,\"request\":null,"
			   "\"httpversion\":null,\"rawrequest\":\"-\",\"response\":408,\"bytes\":null,\"referrer\":\"\\\"-\\\"\","
			   "\"agent\":\"\\\"-\\\"\"}\n");
	check_rows(
		f, "%{SYSLOGLINE}", OPTIONS("fields.pid=int32?", "fields.priority=int32?"),
		"Oct 11 22:14:15 mymachine su[230]: 'su root' failed on /dev/pts/8\n<34>Feb  5 17:32:18 10.0.0.99 CRON: x\n",
		"{\"priority\":null,\"timestamp\":\"Oct 11 "
		"22:14:15\",\"timestamp8601\":null,\"facility\":null,\"logsource\":\"mymachine\","
		"\"program\":\"su\",\"pid\":230,\"message\":\"'su root' failed on /dev/pts/8\"}\n"
		"{\"priority\":34,\"timestamp\":\"Feb  5 "
		"17:32:18\",\"timestamp8601\":null,\"facility\":null,\"logsource\":\"10.0.0.99\","
		"\"program\":\"CRON\",\"pid\":null,\"message\":\"x\"}\n");
	check_rows(f, "%{SYSLOG5424LINE}", OPTIONS("fields.syslog5424_ts=timestamp(ms)?"),
			   "<165>1 2003-10-11T22:14:15.003Z mymachine evntslog - ID47 [a@1 k=\"v]\\\"\"][b@1] hello\n",
			   "{\"syslog5424_pri\":\"165\",\"syslog5424_ver\":\"1\",\"syslog5424_ts\":\"2003-10-11T22:14:15.003Z\","
			   "\"syslog5424_host\":\"mymachine\","
			   "\"syslog5424_app\":\"evntslog\",\"syslog5424_proc\":\"-\",\"syslog5424_msgid\":\"ID47\","
			   "\"syslog5424_sd\":\"[a@1 k=\\\"v]\\\\\\\"\\\"][b@1]\",\"syslog5424_msg\":\"hello\"}\n");
	fixture_destroy(f);
}

/* Texts that a pattern takes whole, and texts that it does not. */
static void
the_parts_of_logs_are_known(void **state)
{
	(void)state;
	static const char *const parts[][3] = {
		{ "IPV4", "1.2.3.4\n255.255.255.255\n", "256.1.1.1\n1.2.3\n01.2.3.4\n" },
		{ "IPV6", "::\n::1\n1:2:3:4:5:6:7:8\nfe80::1%eth0\n::ffff:1.2.3.4\n1::8\n1:2:3:4:5:6:1.2.3.4\n1:2:3::\n",
		  "1:2:3:4:5:6:7\n1::2::3\n12345::\n1:2:3:4:5:6:7:8:9\n" },
		{ "HOSTNAME", "localhost\na-b.example.org\nx_1\n", "-a\na b\n" },
		{ "HOSTPORT", "a.b:80\n1.2.3.4:1\n", "a:\na:0\n" },
		{ "NUMBER", "1\n-1.5\n.5\n+1e9\n", "a\n1.2.3\n-\n" },
		{ "BASE16NUM", "0xFF\nab\n", "0x\ng\n" },
		{ "QS", "\"a\\\"b\"\n'x'\n`y`\n", "\"a\nab\n" },
		{ "UUID", "123e4567-e89b-12d3-a456-426614174000\n", "123e4567e89b12d3a456426614174000\n" },
		{ "MAC", "00:11:22:aa:bb:cc\n0011.22aa.bbcc\n", "00:11:22\n" },
		{ "UNIXPATH", "/a/b.c\n/\n", "a/b\n" },
		{ "WINPATH", "C:\\ab\\c\n\\\\host\\x\n", "C:\n" },
		{ "URI", "http://e.org\nhttps://u:p@e.org:8080/a/b?c=d\nftp://1.2.3.4/\n", "e.org/a\n" },
		{ "EMAILADDRESS", "a.b+c@e.org\n", "a@\n@e.org\n" },
		{ "TIMESTAMP_ISO8601", "2024-02-29T10:00:00Z\n2024-02-29 10:00:00,123+01:00\n2024-02-29T1000\n",
		  "2024-13-01T10:00:00\n" },
		{ "HTTPDATE", "10/Oct/2000:13:55:36 -0700\n", "10/Okt/2000:13:55:36 -0700\n" },
		{ "SYSLOGTIMESTAMP", "Oct 11 22:14:15\nJan  1 00:00:00.123\n", "2024 Oct 11 22:14:15\n" },
		{ "DATESTAMP_RFC822", "Mon Jan 02 2006 15:04:05 UTC\n", "x\n" },
		{ "DATESTAMP_RFC2822", "Mon, 02 Jan 2006 15:04:05 -0700\n", "x\n" },
		{ "DATESTAMP", "01/02/2006 15:04:05\n02.01.2006-15:04\n", "x\n" },
		{ "DATESTAMP_OTHER", "Mon Jan 02 15:04:05 UTC 2006\n", "x\n" },
		{ "DATESTAMP_EVENTLOG", "20060102150405\n", "x\n" },
		{ "LOGLEVEL", "WARN\nerror\nInformation\n", "loud\n" },
		{ "PATH", "/x\nC:\\x\n", "x\n" },
		{ "TTY", "/dev/pts/8\n", "x\n" },
		{ "URN", "urn:isbn:0451450523\n", "isbn:1\n" },
		{ "USER", "a.b-c_1\n", "a b\n" },
		{ "HTTPD_COMMONLOG", "1.1.1.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /\" 200 -\n", "x\n" },
		{ "SYSLOGBASE", "Oct 11 22:14:15 <1.2> h p[1]:\n", "x\n" },
		{ "SPACE", " \t\n", "x\n" },
	};
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(parts); i++) {
		fixture_serde serde;
		const char *pattern = arena_format(f->arena, "pattern=\"%%{%s:whole_text}\"", parts[i][0]);
		fixture_serde_open(f, "regex", OPTIONS(pattern), &serde);
		fixture_rows *good = trial_lines(&serde, parts[i][1]);
		for (size_t k = 0; k < good->rejection_count; k++)
			fail_msg("%s does not take %s", parts[i][0], good->rejections[k].raw);
		fixture_rows *bad = trial_lines(&serde, parts[i][2]);
		if (bad->row_count != 0)
			fail_msg("%s takes %s", parts[i][0], fixture_rows_text(bad));
	}
	fixture_destroy(f);
}

static void
times_are_read_in_the_form_that_an_option_tells(void **state)
{
	(void)state;
	static const char *const times[][4] = {
		{ "timestamp", "%Y-%m-%d %H:%M:%S.%f", "2024-02-29 10:00:00.25", "2024-02-29T10:00:00.25Z" },
		{ "timestamp(ns)", "%a, %d %b %y %I:%M:%S.%f %p %z", "Mon, 01 January 69 12:30:00.123456789 AM +02:30",
		  "1968-12-31T22:00:00.123456789Z" },
		{ "timestamp(ms)", "%s.%f", "1700000000.5", "2023-11-14T22:13:20.5Z" },
		{ "timestamp", "%d/%b/%Y:%H:%M:%S %z", "01/mar/2024:00:00:00 -0030", "2024-03-01T00:30:00Z" },
		{ "local_timestamp(s)", "%b %d %H:%M:%S %Y", "Jan   5 03:04:05 2024", "2024-01-05T03:04:05" },
		{ "date", "%m/%d/%Y 100%%", "2/9/2024 100%", "2024-02-09" },
		{ "time(s)", "%I:%M %p", "12:05 pm", "12:05:00" },
	};
	static const char *const wrong[][3] = {
		{ "%Y-%m-%d", "2023-02-29", "is no time of the form" },
		{ "%Y-%m-%d", "2024-02-29x", "is no time" },
		{ "%Y-%m-%d", "2024-13-01", "is no time" },
		{ "%Y-%m-%d %I", "2024-12-01 13", "is no time" },
		{ "%Y-%b-%d", "2024-Ja-01", "is no time" },
		{ "%Y-%m-%d %H:%M:%S %z", "2024-01-01 00:00:00 +1", "is no time" },
		{ "%Y-%m-%d %S.%f", "2024-01-01 00.0000001", "does not fit exactly" },
	};
	fixture *f = fixture_create();
	for (size_t i = 0; i < FLOW_COUNT(times); i++)
		check_rows(f, "(?<t>.*)",
				   OPTIONS(arena_format(f->arena, "fields.t=\"%s\"", times[i][0]),
						   trial_assignment(f, "times.t", times[i][1])),
				   times[i][2], arena_format(f->arena, "{\"t\":\"%s\"}\n", times[i][3]));
	for (size_t i = 0; i < FLOW_COUNT(wrong); i++) {
		const char *const *options =
			OPTIONS("pattern=\"(?<t>.*)\"", "fields.t=timestamp", trial_assignment(f, "times.t", wrong[i][0]));
		trial_rejected("regex", options, wrong[i][1], i == FLOW_COUNT(wrong) - 1 ? FLOW_E_RANGE : FLOW_E_DECODE, "t",
					   wrong[i][2]);
	}
	fixture_destroy(f);
}

static void
lines_that_do_not_match_are_what_the_option_says(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	check_rejected(f, "(?<a>\\d+)", NULL, "x1", FLOW_E_DECODE, "", "does not match");
	check_rejected(f, "(?<a>\\d+)", NULL, "1x", FLOW_E_DECODE, "", "does not match");
	check_rejected(f, "(?<a>\\d+)", "fields.a=int32", "2147483648", FLOW_E_RANGE, "a", "does not fit");
	check_rejected(f, "x(?<a>\\d+)?", "fields.a=int32", "x", FLOW_E_DECODE, "a", "not in the line");
	check_rejected(f, "(?<a>.*)", NULL, "\xC3", FLOW_E_DECODE, "", "not UTF-8");
	check_rows(f, "(?<a>\\d+)", OPTIONS("unmatched=null"), "x\n1\n", "{\"a\":null}\n{\"a\":\"1\"}\n");
	check_rows(f, "(?<a>\\d+)", OPTIONS("unmatched=raw"), "x \n1\n",
			   "{\"a\":null,\"raw\":\"x \"}\n{\"a\":\"1\",\"raw\":null}\n");
	fixture_destroy(f);
}

static void
a_search_without_end_is_a_record_error(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	check_rejected(f, "(?<a>(x+x+)+[yz])", NULL, "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
				   FLOW_E_LIMIT, "", "match_limit");
	trial_rejected("regex", OPTIONS("pattern=\"(*NO_JIT)(?<a>(x+x+)+[yz])\"", "match=anywhere", "match_limit=1000"),
				   "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", FLOW_E_LIMIT, "", "match_limit");
	fixture_destroy(f);
}

static void
what_is_wrong_with_a_pattern_is_told_by_the_plan(void **state)
{
	(void)state;
	static const char *const wrong[][3] = {
		{ "pattern=\"a(b\"", NULL, "parenthesis" },
		{ "pattern=\"ab\"", NULL, "no named groups" },
		{ "pattern=\"%{NOPE:a}\"", NULL, "no pattern 'NOPE'" },
		{ "pattern=\"%{WORD:a b}\"", NULL, "'a b' is no name" },
		{ "pattern=\"%{A:a}\"", "patterns.A=\"%{A}\"", "refers to itself" },
		{ "pattern=\"%{WORD:a:list<int64>}\"", NULL, "cannot be read as" },
		{ "pattern=\"%{WORD:a}\"", "fields.b=int64", "no group 'b'" },
		{ "pattern=\"%{WORD:a}\"", "times.b=\"%Y\"", "no group 'b'" },
		{ "pattern=\"%{WORD:a}\"", "times.a=\"%Y\"", "declare a timestamp" },
		{ "pattern=\"%{WORD:a:timestamp}\"", "times.a=\"%H:%M\"", "year, month and day" },
		{ "pattern=\"%{WORD:a:timestamp}\"", "times.a=\"%Q\"", "no directive %Q" },
		{ "pattern=\"%{WORD:a:local_timestamp}\"", "times.a=\"%Y-%m-%d %z\"", "has no zone" },
		{ "pattern=\"(?<raw>.)\"", "unmatched=raw", "raw" },
	};
	fixture *f = fixture_create();
	fixture_serde serde;
	for (size_t i = 0; i < FLOW_COUNT(wrong); i++) {
		flow_status status = fixture_try_serde_open(f, "regex", OPTIONS(wrong[i][0], wrong[i][1]), &serde);
		if (status == FLOW_OK || strstr(error_message(&f->error), wrong[i][2]) == NULL)
			fail_msg("%s: %d, %s", wrong[i][0], status, error_message(&f->error));
	}
	assert_int_equal(
		fixture_try_serde_open(f, "regex", OPTIONS("pattern=\"%{INT:a}\"", "fields.a=int64", "unmatched=null"), &serde),
		FLOW_E_CONFIG);
	fixture_destroy(f);
}

static void
fields_that_nobody_reads_are_not_converted(void **state)
{
	(void)state;
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "regex", OPTIONS("pattern=\"(?<a>.) (?<b>.)\"", "fields.a=int32", "fields.b=int32"), &serde);
	static const uint32_t second[] = { 1 };
	fixture_decoding how = { .fields = second, .field_count = 1 };
	fixture_rows *rows = fixture_decode_with(&serde, "x 5\n", 4, &how);
	assert_int_equal(flow_batch_field(rows->batches[0], 0, 0)->type, FLOW_NULL);
	assert_int_equal(flow_batch_field(rows->batches[0], 0, 1)->as.int64, 5);
	fixture_destroy(f);
}

static void
damage_is_a_record_error_or_another_value(void **state)
{
	(void)state;
	static const char line[] = "1.1.1.1 - \xC3\xA9 [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\"";
	fixture *f = fixture_create();
	fixture_serde serde;
	fixture_serde_open(f, "regex", OPTIONS("pattern=\"%{COMBINEDAPACHELOG}\"", "fields.bytes=int32?"), &serde);
	trial_damage(&serde, line, sizeof(line) - 1, 0);
	trial_damage(&serde, line, sizeof(line) - 1, 1);
	fixture_destroy(f);
}

static void
each_allocation_that_fails_is_an_error(void **state)
{
	(void)state;
	trial_reading_memory("regex",
						 OPTIONS("pattern=\"%{INT:a:int} %{WORD:b} (?<c>.*)\"", "fields.c=timestamp?",
								 "times.c=\"%Y-%m-%d\"", "unmatched=null", "patterns.X=y"),
						 "5 x 2024-01-01\n?\n", 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(named_groups_are_the_fields_in_their_order),
		cmocka_unit_test(references_stand_for_patterns),
		cmocka_unit_test(the_usual_logs_are_known),
		cmocka_unit_test(the_parts_of_logs_are_known),
		cmocka_unit_test(times_are_read_in_the_form_that_an_option_tells),
		cmocka_unit_test(lines_that_do_not_match_are_what_the_option_says),
		cmocka_unit_test(a_search_without_end_is_a_record_error),
		cmocka_unit_test(what_is_wrong_with_a_pattern_is_told_by_the_plan),
		cmocka_unit_test(fields_that_nobody_reads_are_not_converted),
		cmocka_unit_test(damage_is_a_record_error_or_another_value),
		cmocka_unit_test(each_allocation_that_fails_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
