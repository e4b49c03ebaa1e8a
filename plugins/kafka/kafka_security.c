/* TLS and SASL, as properties of librdkafka. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kafka.h"

static const struct {
	const char *option;
	const char *property;
} texts[] = {
	{ "security.ca", "ssl.ca.location" },
	{ "security.certificate", "ssl.certificate.location" },
	{ "security.key", "ssl.key.location" },
	{ "security.key_password", "ssl.key.password" },
	{ "security.username", "sasl.username" },
	{ "security.password", "sasl.password" },
	{ "security.service", "sasl.kerberos.service.name" },
	{ "security.keytab", "sasl.kerberos.keytab" },
	{ "security.token_url", "sasl.oauthbearer.token.endpoint.url" },
	{ "security.oauth_client", "sasl.oauthbearer.client.id" },
	{ "security.oauth_secret", "sasl.oauthbearer.client.secret" },
	{ "security.oauth_scope", "sasl.oauthbearer.scope" },
};

static const struct {
	const char *option;
	const char *mechanism;
} mechanisms[] = {
	{ "plain", "PLAIN" },
	{ "scram_sha_256", "SCRAM-SHA-256" },
	{ "scram_sha_512", "SCRAM-SHA-512" },
	{ "oauthbearer", "OAUTHBEARER" },
	{ "gssapi", "GSSAPI" },
};

static const char *
mechanism_of(flow_slice option)
{
	for (size_t i = 0; i < FLOW_COUNT(mechanisms); i++)
		if (flow_slice_is(option, mechanisms[i].option))
			return mechanisms[i].mechanism;
	return NULL;
}

/* Where tokens come from; those of a file are handed over by kafka_token_configure. */
static flow_status
apply_token(const flow_host *host, const flow_options *options, rd_kafka_conf_t *conf, flow_error *error)
{
	flow_slice token = flow_option_text(options, "security.token");
	char text[KAFKA_ERROR_SIZE];
	size_t size = sizeof(text);
	if (flow_slice_is(token, "oidc")) {
		if (rd_kafka_conf_get(conf, "builtin.features", text, &size) == RD_KAFKA_CONF_OK &&
			strstr(text, "oidc") == NULL) {
			host->errors->option(error, "security.token");
			return flow_fail(
				host, error, FLOW_E_UNSUPPORTED,
				"librdkafka %s was built without OpenID Connect; use a newer one (see the page about security "
				"of kafka), or token = \"file\"",
				rd_kafka_version_str());
		}
		return kafka_property_set(host, conf, "sasl.oauthbearer.method", "oidc", error);
	}
	if (!flow_slice_is(token, "unsecured"))
		return FLOW_OK;
	flow_slice principal = flow_option_text(options, "security.principal");
	if (principal.data != NULL && strpbrk(principal.data, " \"") != NULL) {
		host->errors->option(error, "security.principal");
		return flow_fail(host, error, FLOW_E_CONFIG, "the name in a token that is made here has no spaces and quotes");
	}
	snprintf(text, sizeof(text), "principal=%s lifeSeconds=%lld", principal.data == NULL ? "flowd" : principal.data,
			 (long long)flow_option_int(options, "security.token_lifetime", 0) / 1000000);
	flow_status status = kafka_property_set(host, conf, "enable.sasl.oauthbearer.unsecure.jwt", "true", error);
	return status == FLOW_OK ? kafka_property_set(host, conf, "sasl.oauthbearer.config", text, error) : status;
}

flow_status
kafka_security_apply(const flow_host *host, const flow_options *options, rd_kafka_conf_t *conf, flow_error *error)
{
	static const char *const protocols[2][2] = { { "plaintext", "sasl_plaintext" }, { "ssl", "sasl_ssl" } };
	int tls = flow_option_bool(options, "security.tls", 0);
	const char *mechanism = mechanism_of(flow_option_text(options, "security.mechanism"));
	flow_status status = kafka_property_set(host, conf, "security.protocol", protocols[tls][mechanism != NULL], error);
	if (status == FLOW_OK && mechanism != NULL)
		status = kafka_property_set(host, conf, "sasl.mechanism", mechanism, error);
	flow_slice principal = flow_option_text(options, "security.principal");
	if (status == FLOW_OK && mechanism != NULL && strcmp(mechanism, "GSSAPI") == 0 && principal.data != NULL)
		status = kafka_property_set(host, conf, "sasl.kerberos.principal", principal.data, error);
	if (status == FLOW_OK)
		status = apply_token(host, options, conf, error);
	if (status == FLOW_OK && tls)
		status = kafka_property_set(host, conf, "ssl.endpoint.identification.algorithm",
									flow_option_bool(options, "security.verify_host", 1) ? "https" : "none", error);
	for (size_t i = 0; i < FLOW_COUNT(texts) && status == FLOW_OK; i++) {
		flow_slice text = flow_option_text(options, texts[i].option);
		if (text.data != NULL)
			status = kafka_property_set(host, conf, texts[i].property, text.data, error);
	}
	return status;
}

/* --- OAuth: tokens --------------------------------------------------------------------------------------- */

#define TOKEN_MAX 65536

flow_status
kafka_token_open(flow_system *system, const flow_options *options, flow_error *error)
{
	flow_slice path = flow_option_text(options, "security.token_file");
	system->tokens = flow_option_text(options, "security.token").data != NULL;
	if (path.data == NULL)
		return FLOW_OK;
	flow_slice principal = flow_option_text(options, "security.principal");
	system->token_file = kafka_copy(system->host, path);
	system->token_principal = kafka_copy(system->host, principal.data == NULL ? flow_slice_of("flowd") : principal);
	system->token_lifetime = flow_option_int(options, "security.token_lifetime", 0);
	return system->token_file == NULL || system->token_principal == NULL ? kafka_no_memory(system->host, error)
																		 : FLOW_OK;
}

/* [thread of librdkafka] */
static void
on_token_wanted(rd_kafka_t *client, const char *config, void *opaque)
{
	struct kafka_owner *owner = opaque;
	const flow_system *system = owner->system;
	(void)config;
	if (atomic_load(&owner->closing))
		return;
	char problem[KAFKA_ERROR_SIZE] = "the file is empty";
	char *token = malloc(TOKEN_MAX + 1);
	FILE *file = token == NULL ? NULL : fopen(system->token_file, "re");
	size_t size = 0;
	if (file != NULL) {
		size = fread(token, 1, TOKEN_MAX, file);
		fclose(file);
	} else {
		snprintf(problem, sizeof(problem), "%s", strerror(errno));
	}
	while (size != 0 && (token[size - 1] == '\n' || token[size - 1] == '\r' || token[size - 1] == ' '))
		size--;
	rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR__FAIL;
	if (size != 0) {
		token[size] = '\0';
		code = rd_kafka_oauthbearer_set_token(client, token, (system->host->now() + system->token_lifetime) / 1000,
											  system->token_principal, NULL, 0, problem, sizeof(problem));
	}
	free(token);
	if (code == RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	flow_say(system->host, FLOW_LOG_WARN, owner->component, "%s: cannot use the token: %s", system->token_file,
			 problem);
	rd_kafka_oauthbearer_set_token_failure(client, problem);
}

void
kafka_token_configure(const flow_system *system, rd_kafka_conf_t *conf)
{
	if (system->token_file != NULL)
		rd_kafka_conf_set_oauthbearer_token_refresh_cb(conf, on_token_wanted);
	if (system->tokens)
		rd_kafka_conf_enable_sasl_queue(conf, 1);
}

void
kafka_token_start(const flow_system *system, rd_kafka_t *client)
{
	if (system->tokens)
		rd_kafka_error_destroy(rd_kafka_sasl_background_callbacks_enable(client));
}
