/*
 * The patterns that logs are usually told with, under their usual names and with the usual names of fields.
 *
 * Where a part can be long it ends at a character that cannot be in it, so that a line which does not match is found out soon.
 */
#include "regex.h"

struct known {
	const char *name;
	const char *pattern;
};

#define OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define DOTTED OCTET "(?:\\." OCTET "){3}"
#define H "[0-9A-Fa-f]{1,4}"

/* By name. */
static const struct known known[] = {
	{ "BASE10NUM", "[+-]?(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:[eE][+-]?[0-9]+)?" },
	{ "BASE16NUM", "[+-]?(?:0[xX])?[0-9A-Fa-f]+" },
	{ "COMBINEDAPACHELOG", "%{COMMONAPACHELOG} %{QS:referrer} %{QS:agent}" },
	{ "COMMONAPACHELOG", "%{IPORHOST:clientip} %{NOTSPACE:ident} %{NOTSPACE:auth} \\[%{HTTPDATE:timestamp}\\] "
						 "\"(?:%{WORD:verb} %{NOTSPACE:request}(?: HTTP/%{NUMBER:httpversion})?|%{DATA:rawrequest})\" "
						 "(?:%{INT:response}|-) (?:%{INT:bytes}|-)" },
	{ "DATA", ".*?" },
	{ "DATE", "(?:%{DATE_US}|%{DATE_EU})" },
	{ "DATESTAMP", "%{DATE}[- ]%{TIME}" },
	{ "DATESTAMP_EVENTLOG", "%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}" },
	{ "DATESTAMP_OTHER", "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}" },
	{ "DATESTAMP_RFC2822", "%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}" },
	{ "DATESTAMP_RFC822", "%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}" },
	{ "DATE_EU", "%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}" },
	{ "DATE_US", "%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}" },
	{ "DAY", "(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)" },
	{ "EMAILADDRESS", "[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@%{HOSTNAME}" },
	{ "GREEDYDATA", ".*" },
	{ "HOSTNAME",
	  "\\b[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62})(?:\\.[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}))*\\.?(?![0-9A-Za-z_-])" },
	{ "HOSTPORT", "%{IPORHOST}:%{POSINT}" },
	{ "HOUR", "(?:2[0-3]|[01]?[0-9])" },
	{ "HTTPDATE", "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}" },
	{ "HTTPD_COMBINEDLOG", "%{COMBINEDAPACHELOG}" },
	{ "HTTPD_COMMONLOG", "%{COMMONAPACHELOG}" },
	{ "INT", "[+-]?[0-9]+" },
	{ "IP", "(?:%{IPV6}|%{IPV4})" },
	{ "IPORHOST", "(?:%{IP}|%{HOSTNAME})" },
	{ "IPV4", "(?<![0-9.])" DOTTED "(?![0-9])" },
	{ "IPV6",
	  "(?:(?:" H ":){7}(?:" H "|:)|(?:" H ":){6}(?::" H "|" DOTTED "|:)|(?:" H ":){5}(?:(?::" H "){1,2}|:" DOTTED "|:)"
	  "|(?:" H ":){4}(?:(?::" H "){1,3}|(?::" H ")?:" DOTTED "|:)|(?:" H ":){3}(?:(?::" H "){1,4}|(?::" H
	  "){0,2}:" DOTTED "|:)"
	  "|(?:" H ":){2}(?:(?::" H "){1,5}|(?::" H "){0,3}:" DOTTED "|:)|" H ":(?:(?::" H "){1,6}|(?::" H "){0,4}:" DOTTED
	  "|:)"
	  "|:(?:(?::" H "){1,7}|(?::" H "){0,5}:" DOTTED "|:))(?:%[0-9A-Za-z._~-]+)?" },
	{ "ISO8601_SECOND", "%{SECOND}" },
	{ "ISO8601_TIMEZONE", "(?:Z|[+-]%{HOUR}(?::?%{MINUTE})?)" },
	{ "LOGLEVEL", "(?i:trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|crit(?:ical)?|alert|fatal|severe|"
				  "emerg(?:ency)?)" },
	{ "MAC", "(?:[0-9A-Fa-f]{2}(?:[:-][0-9A-Fa-f]{2}){5}|[0-9A-Fa-f]{4}(?:\\.[0-9A-Fa-f]{4}){2})" },
	{ "MINUTE", "[0-5][0-9]" },
	{ "MONTH",
	  "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?"
	  "|Nov(?:ember)?|Dec(?:ember)?)" },
	{ "MONTHDAY", "(?:3[01]|[12][0-9]|0?[1-9])" },
	{ "MONTHNUM", "(?:1[0-2]|0?[1-9])" },
	{ "MONTHNUM2", "(?:1[0-2]|0[1-9])" },
	{ "NONNEGINT", "[0-9]+" },
	{ "NOTSPACE", "\\S+" },
	{ "NUMBER", "%{BASE10NUM}" },
	{ "PATH", "(?:%{UNIXPATH}|%{WINPATH})" },
	{ "POSINT", "[1-9][0-9]*" },
	{ "PROG", "[^\\s\\[\\]:]+(?::[^\\s\\[\\]:]+)*" },
	{ "QS", "%{QUOTEDSTRING}" },
	{ "QUOTEDSTRING", "(?:\"(?:[^\"\\\\]++|\\\\.)*+\"|'(?:[^'\\\\]++|\\\\.)*+'|`(?:[^`\\\\]++|\\\\.)*+`)" },
	{ "SECOND", "(?:[0-5]?[0-9]|60)(?:[:.,][0-9]+)?" },
	{ "SPACE", "\\s*" },
	{ "SYSLOG5424BASE",
	  "<%{NONNEGINT:syslog5424_pri}>%{NONNEGINT:syslog5424_ver} (?:%{TIMESTAMP_ISO8601:syslog5424_ts}|-) "
	  "(?:%{NOTSPACE:syslog5424_host}) (?:%{NOTSPACE:syslog5424_app}) (?:%{NOTSPACE:syslog5424_proc}) "
	  "(?:%{NOTSPACE:syslog5424_msgid}) (?:-|%{SYSLOG5424SD:syslog5424_sd})" },
	{ "SYSLOG5424LINE", "%{SYSLOG5424BASE}(?: %{GREEDYDATA:syslog5424_msg})?" },
	{ "SYSLOG5424SD", "(?:\\[(?:[^\\]\"\\\\]++|\"(?:[^\"\\\\]++|\\\\.)*+\")*+\\])+" },
	{ "SYSLOGBASE", "%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} %{SYSLOGPROG}:" },
	{ "SYSLOGFACILITY", "<%{NONNEGINT:facility}\\.%{NONNEGINT:priority}>" },
	{ "SYSLOGHOST", "%{IPORHOST}" },
	{ "SYSLOGLINE", "(?:<%{NONNEGINT:priority}>)?(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp8601}) "
					"(?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} %{SYSLOGPROG}: *%{GREEDYDATA:message}" },
	{ "SYSLOGPROG", "%{PROG:program}(?:\\[%{POSINT:pid}\\])?" },
	{ "SYSLOGTIMESTAMP", "%{MONTH} +%{MONTHDAY} %{TIME}" },
	{ "TIME", "(?<![0-9])%{HOUR}:%{MINUTE}(?::%{SECOND})?(?![0-9])" },
	{ "TIMESTAMP_ISO8601",
	  "%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?%{ISO8601_TIMEZONE}?" },
	{ "TTY", "/dev/(?:pts|tty(?:[pq])?)(?:\\w+)?/?(?:[0-9]+)?" },
	{ "TZ", "(?:[APMCE][SD]T|UTC|GMT|CES?T)" },
	{ "UNIXPATH", "(?:/[\\w%!$@:.,+~=-]*)+" },
	{ "URI", "%{URIPROTO}://(?:%{USER}(?::[^@\\s/]*)?@)?(?:%{URIHOST})?(?:%{URIPATHPARAM})?" },
	{ "URIHOST", "%{IPORHOST}(?::%{POSINT})?" },
	{ "URIPARAM", "\\?[^\\s\"<>]*" },
	{ "URIPATH", "(?:/[^\\s?\"<>/]*)+" },
	{ "URIPATHPARAM", "%{URIPATH}(?:%{URIPARAM})?" },
	{ "URIPROTO", "[A-Za-z][A-Za-z0-9+.-]*" },
	{ "URN", "urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:[0-9A-Za-z()+,.:=@;$_!*'/?#%-]+" },
	{ "USER", "%{USERNAME}" },
	{ "USERNAME", "[A-Za-z0-9._-]+" },
	{ "UUID", "[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}" },
	{ "WINPATH", "(?:[A-Za-z]:|\\\\)(?:\\\\[^\\\\?*\\s]*)+" },
	{ "WORD", "\\b\\w+\\b" },
	{ "YEAR", "(?:[0-9]{4}|[0-9]{2})" },
};

const char *
regex_known_pattern(flow_slice name)
{
	for (size_t i = 0; i < FLOW_COUNT(known); i++)
		if (flow_slice_is(name, known[i].name))
			return known[i].pattern;
	return NULL;
}
