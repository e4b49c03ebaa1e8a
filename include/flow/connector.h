/*
 * flow/connector.h - component kind `connector`: the FROM and TO sides of transfers (source of the ideas: Sqoop 2, and
 * its delta fetch and merge design).
 *
 * A submission, in order: cleanup (both sides) -> initialize(FIRST) on both -> schemas are matched by the host -> prepare on both ->
 * partition (FROM) -> for each part open_extractor, read*, close_extractor, and open_loader, write*, close_loader, in parallel and
 * perhaps in other processes (which initialize(ATTACH) first) -> the host stores all results durably -> commit (FROM: settles its
 * output) -> commit (TO: everything becomes visible at once) -> the host stores state and record in one transaction -> settled
 * (FROM) -> destroy on both sides, whatever happened. After a crash behind "stores all results": initialize(RECOVER), commit with
 * the same results (same output and counts), destroy. Otherwise the submission is void and `cleanup` of the next one removes
 * what it left. Only the host stores state: parts, results and outputs are serialisable bytes.
 *
 * A part that fails, fails its loader: close_loader(success 0); every part that this loader had received is read again by a new
 * one. Only results of successful loaders reach commit. FLOW_ERROR_RETRYABLE of read, write or open: the part is tried again;
 * else the submission fails.
 *
 * Bytes that a call returns in a slice belong to the object that it was called on and are copied by the host before the next call.
 * `close_*` always frees, `destroy` too; after a failed open or initialize there is nothing to close.
 */
#ifndef FLOW_CONNECTOR_H
#define FLOW_CONNECTOR_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_transfer flow_transfer; /* one side of one submission */
typedef struct flow_extractor flow_extractor;
typedef struct flow_loader flow_loader;

#define FLOW_SIDE_FROM 1
#define FLOW_SIDE_TO 2

/* flow_transfer_request.mode */
#define FLOW_TRANSFER_FIRST 1   /* the process that leads the submission */
#define FLOW_TRANSFER_ATTACH 2  /* another process that runs parts of it: `shared` holds what FIRST gave */
#define FLOW_TRANSFER_RECOVER 3 /* only commit or destroy follow: take no snapshot, create nothing */

typedef struct flow_transfer_request {
	uint32_t struct_size;
	uint32_t side;            /* FLOW_SIDE_* */
	uint32_t mode;            /* FLOW_TRANSFER_* */
	uint32_t delta;           /* the job asks for a delta (its option `delta` is on) */
	uint32_t dry;             /* only plan: initialize, prepare, partition, destroy(0); change nothing */
	uint32_t reserved;
	const flow_options *link; /* scope "link"; both live until destroy */
	const flow_options *job;  /* scope "from" or "to" */
	flow_slice job_name;
	flow_slice submission;    /* unique id of this run, [a-z0-9]{1,32}: for names of staging tables and temporaries */
	flow_slice state;         /* this side's output of the last committed run of this job; empty: first run */
	flow_slice shared;        /* ATTACH, RECOVER: what FIRST gave */
	/* [any] Reports a record that was read or written and turned out bad later (end of COPY, merge). Valid until commit returned. */
	flow_status (*reject)(void *reject_context, const flow_rejection *rejection);
	void *reject_context;
} flow_transfer_request;

/* Filled by initialize; struct_size is set by the caller, the rest is zero. Arrays belong to the transfer. */
typedef struct flow_transfer_info {
	uint32_t struct_size;
	uint32_t max_parallel;      /* 0: any number */
	const flow_schema *schema;  /* FROM: of the records; TO: of the target, or NULL: any. Released by the host */
	const uint32_t *key_fields; /* fields that identify a record; NULL: not known */
	uint32_t key_field_count;
	uint32_t one_process;       /* all parts must run in the process that leads */
	int64_t estimated_rows;     /* -1: unknown */
	flow_slice shared;          /* FIRST: for ATTACH and RECOVER (an exported snapshot's name ...) */
} flow_transfer_info;

typedef struct flow_part {
	uint32_t struct_size;
	uint32_t index;
	flow_slice bytes; /* opaque: a partition of FROM, or a result for commit */
	flow_slice label; /* for people: "id 1 to 50000" */
} flow_part;

typedef struct flow_transfer_counts {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t read, written, rejected;    /* counted by the host */
	uint64_t inserted, updated, deleted; /* filled by TO's commit */
} flow_transfer_counts;

typedef struct flow_connector_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] blocking-ok. Optional: can the link be used? */
	flow_status (*test_link)(const flow_host *host, const flow_options *link, flow_error *error);
	/* [main] blocking-ok. Optional: removes what submissions of this job left that are not among `live`. */
	flow_status (*cleanup)(const flow_host *host, const flow_transfer_request *request, const flow_slice *live,
	                       uint64_t live_count, flow_error *error);
	/* [main] blocking-ok. */
	flow_status (*initialize)(const flow_host *host, const flow_transfer_request *request, flow_transfer_info *info,
	                          flow_transfer **transfer, flow_error *error);
	/* [main] blocking-ok. Once, after matching. FROM: the fields that TO uses (NULL: all). TO: the schema of every batch that will
	 * come (create the target, the staging area). A row with a key and a null value deletes. */
	flow_status (*prepare)(flow_transfer *transfer, const flow_schema *schema, const uint32_t *fields, uint64_t field_count,
	                       flow_error *error);
	/* [main] blocking-ok. FROM: about `wanted` parts; the array belongs to the transfer. */
	flow_status (*partition)(flow_transfer *transfer, uint32_t wanted, const flow_part *const **parts, uint64_t *count,
	                         flow_error *error);
	/* [any] blocking-ok. Opens run concurrently on one transfer; the extractor then belongs to its task. */
	flow_status (*open_extractor)(flow_transfer *transfer, const flow_part *part, flow_extractor **extractor,
	                              flow_error *error);
	/* [task] blocking-ok. Adds rows to the (empty) builder; FLOW_END: no rows, and none will come. */
	flow_status (*read)(flow_extractor *extractor, flow_builder *builder, flow_error *error);
	flow_status (*close_extractor)(flow_extractor *extractor, flow_slice *result, flow_error *error); /* [task] blocking-ok */
	/* [any] blocking-ok. One loader per worker; parts may share it. Batches have the schema of prepare. */
	flow_status (*open_loader)(flow_transfer *transfer, uint32_t worker, flow_loader **loader, flow_error *error);
	/* [task] blocking-ok. Takes all selected rows; statuses[i] (preset to FLOW_OK) is of the i-th selected row. */
	flow_status (*write)(flow_loader *loader, const flow_batch *batch, flow_status *statuses, flow_error *error);
	/* [task] blocking-ok. Everything is staged; *result goes to commit. `success` 0: drop what it staged. */
	flow_status (*close_loader)(flow_loader *loader, int success, flow_slice *result, flow_error *error);
	/* [any] Optional: a blocking call under way on this transfer returns FLOW_E_CANCELLED soon. */
	void (*cancel)(flow_transfer *transfer);
	/* [main] blocking-ok. `results`: of the extractors (FROM) or loaders (TO). *output is the state that the next run gets (empty:
	 * keep the old one); a JSON object in UTF-8 can be shown to people. Safe to repeat for the same submission. */
	flow_status (*commit)(flow_transfer *transfer, const flow_part *const *results, uint64_t count, flow_slice *output,
	                      flow_transfer_counts *counts, flow_error *error);
	/* [main] blocking-ok. Optional, FROM: the state is stored; the source may forget what was read. */
	flow_status (*settled)(flow_transfer *transfer, flow_error *error);
	/* [main] blocking-ok. `success`: everything was committed; an attached transfer drops only what is local to its process. */
	void (*destroy)(flow_transfer *transfer, int success);
	/* [main] Optional: rewrites stored options (scope "link", "from", "to") or state (scope "state") of an older version of this
	 * connector; both in JSON; *upgraded lives until the next call. */
	flow_status (*upgrade)(const flow_host *host, const char *scope, const char *from_version, flow_slice stored,
	                       flow_slice *upgraded, flow_error *error);
} flow_connector_ops;

#ifdef __cplusplus
}
#endif
#endif
