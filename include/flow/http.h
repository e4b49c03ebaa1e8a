/*
 * flow/http.h - service FLOW_SERVICE_HTTP (reserved: the host serves no HTTP yet): routes that a plugin mounts on the host's
 * one HTTP server. Authorisation runs before the handler. Bodies are pulled in chunks. A reply may be completed later,
 * from any thread (long poll).
 */
#ifndef FLOW_HTTP_H
#define FLOW_HTTP_H

#include "flow/abi.h"
#include "flow/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_http_request flow_http_request; /* lives until its reply is complete */

/* flow_http_route.grant: what the caller must hold on the resource that `resource` names. */
#define FLOW_GRANT_NONE 0
#define FLOW_GRANT_READ 1
#define FLOW_GRANT_WRITE 2
#define FLOW_GRANT_ADMIN 3

typedef struct flow_http_route {
	uint32_t struct_size;
	uint32_t grant;
	const char *method;   /* "GET" ... */
	const char *pattern;  /* "/v1/namespaces/{namespace}/topics/{topic}" */
	const char *resource; /* of the pattern, like "topic:{namespace}:{topic}", for authorisation; or NULL */
	const char *doc;      /* for the OpenAPI description */
	uint64_t max_body;    /* bytes; 0: the server's limit */
	/* [any] blocking-ok (a pool of threads). Called once the head is there. Reads the body with flow_http.read, answers with
	 * reply_*; may return before the answer is complete. A failure becomes a reply with a fitting status, unless one has begun. */
	flow_status (*handle)(void *self, flow_http_request *request, flow_error *error);
} flow_http_route;

typedef struct flow_http {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] In init or an open. `self` is handed to the handlers. */
	flow_status (*mount)(const flow_http_route *const *routes, uint64_t count, void *self, flow_error *error);
	/* [any] "" where it is missing. Slices live as long as the request. */
	flow_slice (*path_parameter)(flow_http_request *request, const char *name);
	flow_slice (*query_parameter)(flow_http_request *request, const char *name, int *present);
	flow_slice (*header)(flow_http_request *request, const char *name, int *present);
	flow_slice (*caller)(flow_http_request *request); /* the authenticated name; may be empty */
	/* [any] blocking-ok on the handler's thread. The next piece of the body; FLOW_END: all read; FLOW_E_LIMIT: too large. */
	flow_status (*read)(flow_http_request *request, flow_slice *piece, flow_error *error);
	/* [any] One reply: begin, headers, body pieces (back-pressure: FLOW_AGAIN, `writable` is called), end. */
	flow_status (*reply_begin)(flow_http_request *request, uint32_t status, const char *content_type);
	flow_status (*reply_header)(flow_http_request *request, const char *name, flow_slice value);
	/* [any] FLOW_OK: taken (copied). FLOW_AGAIN: nothing taken, `writable` follows, offer it again. Negative: the client has gone. */
	flow_status (*reply_write)(flow_http_request *request, flow_slice piece);
	/* [any] Completes the reply. `failed` 1: break the connection so that the client sees a cut. */
	void (*reply_end)(flow_http_request *request, int failed);
	/* [any] Called from any thread when the client has gone or more can be written; callbacks of one request never overlap, none
	 * comes from inside notify or reply_*. `done` is the last one, once, after reply_end (which is due after `gone` too). */
	void (*notify)(flow_http_request *request, void (*gone)(void *self), void (*writable)(void *self),
	               void (*done)(void *self), void *self);
} flow_http;

#ifdef __cplusplus
}
#endif
#endif
