/* Option tables of the system and its inputs. */
#include "kafka.h"

#define OPTION(identifier, ...)                                                                                        \
	static const flow_option identifier = { .struct_size = FLOW_SIZEOF(flow_option), __VA_ARGS__ }

/* --- security ------------------------------------------------------------------------------------------------------- */

static const char *const mechanisms[] = { "plain\tname and password, in the clear unless tls is on",
										  "scram_sha_256\tname and password, never sent",
										  "scram_sha_512\tname and password, never sent",
										  "oauthbearer\ta token (OAuth)",
										  "gssapi\tKerberos",
										  NULL };
OPTION(security_tls, .type = FLOW_OPTION_BOOL, .name = "tls", .default_text = "false",
	   .doc = "Connections to brokers are encrypted, and brokers show a certificate.");
OPTION(security_ca, .type = FLOW_OPTION_PATH, .name = "ca", .condition = "tls=true",
	   .doc = "File with the certificates of authorities that brokers are trusted by. Absent: those of the machine.");
OPTION(security_certificate, .type = FLOW_OPTION_PATH, .name = "certificate", .condition = "tls=true",
	   .doc = "File with the certificate that flowd shows to brokers, PEM.");
OPTION(security_key, .type = FLOW_OPTION_PATH, .name = "key", .condition = "certificate",
	   .doc = "File with the private key of the certificate, PEM.");
OPTION(security_key_password, .type = FLOW_OPTION_SECRET, .name = "key_password", .condition = "key",
	   .doc = "Password of the private key.");
OPTION(security_verify_host, .type = FLOW_OPTION_BOOL, .name = "verify_host", .default_text = "true",
	   .condition = "tls=true", .doc = "A broker's certificate must name the host that flowd connects to.");
OPTION(security_mechanism, .type = FLOW_OPTION_ENUM, .name = "mechanism", .choices = mechanisms,
	   .doc = "How flowd tells brokers who it is (SASL). Absent: by its certificate, or not at all.");
OPTION(security_username, .type = FLOW_OPTION_STRING, .name = "username", .flags = FLOW_OPTION_REQUIRED,
	   .condition = "mechanism=plain|scram_sha_256|scram_sha_512", .doc = "Name of the user.");
OPTION(security_password, .type = FLOW_OPTION_SECRET, .name = "password", .flags = FLOW_OPTION_REQUIRED,
	   .condition = "mechanism=plain|scram_sha_256|scram_sha_512", .example = "{ env = \"KAFKA_PASSWORD\"; }",
	   .doc = "Password of the user.");
OPTION(security_service, .type = FLOW_OPTION_STRING, .name = "service", .default_text = "kafka",
	   .condition = "mechanism=gssapi", .doc = "Kerberos: first part of the brokers' principal.");
OPTION(security_principal, .type = FLOW_OPTION_STRING, .name = "principal", .condition = "mechanism=gssapi|oauthbearer",
	   .doc = "Kerberos: flowd's principal. OAuth: the name that the token is for.");
OPTION(security_keytab, .type = FLOW_OPTION_PATH, .name = "keytab", .condition = "mechanism=gssapi",
	   .doc = "Kerberos: file with the principal's keys. Absent: the tickets of the user.");
static const char *const tokens[] = { "file\tread from token_file, which something else keeps fresh",
									  "oidc\tasked for at token_url, with oauth_client and oauth_secret",
									  "unsecured\tmade here and signed by nobody: for tests, with brokers that take it",
									  NULL };
OPTION(security_token, .type = FLOW_OPTION_ENUM, .name = "token", .choices = tokens, .default_text = "file",
	   .condition = "mechanism=oauthbearer", .doc = "OAuth: where the token comes from.");
OPTION(security_token_file, .type = FLOW_OPTION_PATH, .name = "token_file", .flags = FLOW_OPTION_REQUIRED,
	   .condition = "token=file", .doc = "OAuth: file with the token, read again whenever one is needed.");
OPTION(security_token_lifetime, .type = FLOW_OPTION_DURATION, .name = "token_lifetime", .default_text = "5m",
	   .minimum = "10s", .condition = "token=file|unsecured",
	   .doc = "OAuth: the file is read again, or another token is made, before so much time has passed.");
OPTION(security_token_url, .type = FLOW_OPTION_STRING, .name = "token_url", .flags = FLOW_OPTION_REQUIRED,
	   .condition = "token=oidc", .example = "\"https://login.example.org/oauth2/token\"",
	   .doc = "OAuth: where tokens are asked for (OpenID Connect, client credentials). Debian 12's librdkafka cannot "
			  "do it; a "
			  "newer one can.");
OPTION(security_oauth_client, .type = FLOW_OPTION_STRING, .name = "oauth_client", .flags = FLOW_OPTION_REQUIRED,
	   .condition = "token=oidc", .doc = "OAuth: identifier of the client that asks.");
OPTION(security_oauth_secret, .type = FLOW_OPTION_SECRET, .name = "oauth_secret", .flags = FLOW_OPTION_REQUIRED,
	   .condition = "token=oidc", .doc = "OAuth: secret of the client that asks.");
OPTION(security_oauth_scope, .type = FLOW_OPTION_STRING, .name = "oauth_scope", .condition = "token=oidc",
	   .doc = "OAuth: what the token is asked for.");
static const flow_option *const security_list[] = {
	&security_tls,          &security_ca,           &security_certificate,    &security_key,
	&security_key_password, &security_verify_host,  &security_mechanism,      &security_username,
	&security_password,     &security_service,      &security_principal,      &security_keytab,
	&security_token,        &security_token_file,   &security_token_lifetime, &security_token_url,
	&security_oauth_client, &security_oauth_secret, &security_oauth_scope,    NULL
};

/* --- the system ----------------------------------------------------------------------------------------------------- */

OPTION(bootstrap_servers, .type = FLOW_OPTION_LIST, .element = FLOW_OPTION_STRING,
	   .flags = FLOW_OPTION_REQUIRED | FLOW_OPTION_OR_ONE | FLOW_OPTION_ADDRESS_HOST, .name = "bootstrap_servers",
	   .example = "[\"127.0.0.1:9092\"]",
	   .doc = "Brokers, HOST:PORT, that tell the others of their cluster; one is enough while it is up.");
OPTION(client_id, .type = FLOW_OPTION_STRING, .name = "client_id", .default_text = "flowd",
	   .doc = "Name in the brokers' logs and quotas.");
OPTION(security, .type = FLOW_OPTION_GROUP, .name = "security", .members = security_list,
	   .doc = "Encryption and authentication. Absent: neither.");
OPTION(consumer, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "consumer",
	   .example = "{ fetch = { min = { bytes = 1000; }; }; }",
	   .doc =
		   "Properties of librdkafka for all inputs, checked by it. Those that flowd sets itself are refused, with the "
		   "option to use instead.");
OPTION(
	producer, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "producer",
	.example = "{ linger = { ms = 50; }; }",
	.doc =
		"Properties of librdkafka for all outputs, checked by it. Those that flowd sets itself are refused, with the "
		"option to use instead. Without a linger.ms, records of an output that writes less than 25 MiB a second wait "
		"up "
		"to 5 ms for others, those of a busier one up to 50 ms.");
static const char *const compressions[] = { "none", "gzip", "snappy", "lz4", "zstd", NULL };
OPTION(compression, .type = FLOW_OPTION_ENUM, .name = "compression", .choices = compressions, .default_text = "lz4",
	   .doc = "How records are compressed on their way to the brokers, and there.");
OPTION(idempotence, .type = FLOW_OPTION_BOOL, .name = "idempotence", .default_text = "true",
	   .doc = "What is sent again after an error is written once and in order.");
OPTION(fetch_threshold, .type = FLOW_OPTION_INT, .name = "fetch_threshold", .minimum = "1000",
	   .doc = "Most records that wait in this process, over all inputs of the system. Absent: bounded by bytes alone.");
OPTION(fetch_threshold_bytes, .type = FLOW_OPTION_SIZE, .name = "fetch_threshold_bytes", .default_text = "64MiB",
	   .minimum = "1MiB", .maximum = "64GiB",
	   .doc = "Most bytes of records that wait in this process, over all inputs of the system.");
OPTION(send_threshold_bytes, .type = FLOW_OPTION_SIZE, .name = "send_threshold_bytes", .default_text = "4MiB",
	   .minimum = "1MiB", .maximum = "2047GiB",
	   .doc =
		   "Most bytes of records of an output that wait to be sent; then the job waits. More is of use where brokers "
		   "are far away: this much can be written in the time of an answer.");
OPTION(transaction_timeout, .type = FLOW_OPTION_DURATION, .name = "transaction_timeout", .default_text = "1m",
	   .minimum = "1s", .maximum = "1d",
	   .doc = "Patience of brokers with a transaction: one that is open for longer is lost, and the job goes back to "
			  "its last "
			  "checkpoint. Longer than checkpoint_interval; brokers allow transaction.max.timeout.ms (15 minutes).");
OPTION(discovery_interval, .type = FLOW_OPTION_DURATION, .name = "discovery_interval", .default_text = "30s",
	   .minimum = "100ms", .maximum = "1d", .doc = "How soon topics and partitions that appear are found.");
OPTION(request_timeout, .type = FLOW_OPTION_DURATION, .name = "request_timeout", .default_text = "10s",
	   .minimum = "100ms", .maximum = "10m",
	   .doc = "Patience with brokers that are asked something while planning and at start.");
static const flow_option *const system_list[] = {
	&bootstrap_servers,
	&client_id,
	&security,
	&consumer,
	&producer,
	&compression,
	&idempotence,
	&fetch_threshold,
	&fetch_threshold_bytes,
	&discovery_interval,
	&request_timeout,
	&send_threshold_bytes,
	&transaction_timeout,
	NULL,
};
const flow_option_set kafka_system_options = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "",
	.doc = "A cluster of Apache Kafka.",
	.options = system_list,
};

/* --- inputs --------------------------------------------------------------------------------------------------------- */

OPTION(input_pattern, .type = FLOW_OPTION_STRING, .name = "pattern", .example = "orders-.*",
	   .doc = "Reads every topic whose whole name matches this expression (POSIX, extended), also those that appear "
			  "later, in "
			  "place of the topic of the physical name.");
OPTION(
	input_group, .type = FLOW_OPTION_STRING, .name = "group",
	.doc =
		"Consumer group. Its committed offsets say where reading goes on where no checkpoint does, and are kept up to "
		"date.");
static const char *const assignments[] = { "static\tall partitions are read by this process",
										   "group\tthe processes of the group share the partitions", NULL };
OPTION(input_assignment, .type = FLOW_OPTION_ENUM, .name = "assignment", .choices = assignments,
	   .default_text = "static", .condition = "group", .doc = "Who says which partitions are read here.");
static const char *const rebalances[] = { "cooperative\tpartitions that stay are not disturbed",
										  "eager\tall partitions are given up and dealt anew", NULL };
OPTION(input_rebalance, .type = FLOW_OPTION_ENUM, .name = "rebalance", .choices = rebalances,
	   .default_text = "cooperative", .condition = "assignment=group",
	   .doc = "How partitions move when a process joins or leaves. All of a group use the same.");
OPTION(input_start_timestamp, .type = FLOW_OPTION_DATETIME, .name = "start_timestamp",
	   .doc = "Where no position is known: start at the first record with this timestamp or a later one, in place of "
			  "offset_default.");
OPTION(input_start_offsets, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_INT, .name = "start_offsets",
	   .condition = "!start_timestamp", .example = "( { name = \"0\"; value = 1200; } )",
	   .doc = "Where no position is known: the offset that each of these partitions is read from, in place of "
			  "offset_default.");
static const char *const resets[] = { "error\tthe job ends and says what is missing",
									  "oldest\tgo on with the oldest record that is there",
									  "newest\tgo on behind the newest record", NULL };
OPTION(input_offset_reset, .type = FLOW_OPTION_ENUM, .name = "offset_reset", .choices = resets, .default_text = "error",
	   .doc = "What happens when the record to go on with is no longer there, or not yet (its topic was made anew), or "
			  "its topic was deleted. With other "
			  "values than error a job that goes on without end waits for a topic that was deleted.");
static const char *const isolations[] = { "read_committed\trecords of open and aborted transactions are not seen",
										  "read_uncommitted\tall records", NULL };
OPTION(input_isolation, .type = FLOW_OPTION_ENUM, .name = "isolation", .choices = isolations,
	   .default_text = "read_committed", .doc = "Which records of transactions are read.");
OPTION(input_headers, .type = FLOW_OPTION_BOOL, .name = "headers", .default_text = "true",
	   .doc = "Headers come along. Without them reading is a little cheaper.");
OPTION(input_type_header, .type = FLOW_OPTION_STRING, .name = "timestamp_type_header", .example = "\"timestamp-type\"",
	   .doc =
		   "Name of a header that each record gets, which says who gave it its timestamp: `create` (who wrote it) or "
		   "`log_append` (the broker). Absent: none.");
OPTION(input_fetch_bytes, .type = FLOW_OPTION_SIZE, .name = "fetch_message_max_bytes", .minimum = "1KiB",
	   .maximum = "1GiB",
	   .doc = "Bytes of one partition that a broker sends at once; a larger record comes all the same.");
OPTION(input_consumer, .type = FLOW_OPTION_MAP, .element = FLOW_OPTION_ANY, .name = "consumer",
	   .example = "{ fetch = { min = { bytes = 1000; }; }; }",
	   .doc = "Properties of librdkafka for this input, over those of the system.");
static const flow_option *const input_list[] = { &input_pattern,
												 &input_group,
												 &input_assignment,
												 &input_rebalance,
												 &input_start_timestamp,
												 &input_start_offsets,
												 &input_offset_reset,
												 &input_isolation,
												 &input_headers,
												 &input_type_header,
												 &input_fetch_bytes,
												 &input_consumer,
												 NULL };
const flow_option_set kafka_input_options = {
	.struct_size = FLOW_SIZEOF(flow_option_set),
	.scope = "input",
	.doc = "Inputs from topics. The topic is the stream's physical name.",
	.options = input_list,
};
