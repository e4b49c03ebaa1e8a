/*
 * flow/connector.h - component kind `connector`: the FROM and TO sides of transfers (source of the ideas: Sqoop 2, and
 * its delta fetch and merge design).
 *
 * A submission: initialize both sides -> schemas are matched -> partition -> for each partition open_extractor, read*,
 * open_loader, write* in parallel, perhaps in other processes -> commit(all parts) on the TO side -> the host stores state
 * and record in one transaction -> destroy on both sides, whatever happened. Only the host stores state: partitions, part
 * results and outputs are serialisable bytes.
 */
#ifndef FLOW_CONNECTOR_H
#define FLOW_CONNECTOR_H

#include "flow/batch.h"
#include "flow/component.h"
#include "flow/host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct flow_transfer flow_transfer;   /* one side of one submission */
typedef struct flow_extractor flow_extractor;
typedef struct flow_loader flow_loader;

#define FLOW_SIDE_FROM 1
#define FLOW_SIDE_TO 2

typedef struct flow_transfer_request {
	uint32_t struct_size;
	uint32_t side;               /* FLOW_SIDE_* */
	const flow_options *link;    /* scope "link" */
	const flow_options *job;     /* scope "from" or "to" */
	flow_slice job_name;
	flow_slice submission;       /* unique id of this run: names of staging tables and temporaries */
	flow_slice state;            /* output of this side's last committed run of this job; empty: first run */
	const flow_schema *schema;   /* TO: what will come (after matching); NULL at first */
	uint32_t delta;              /* the job asks for a delta */
	uint32_t dry;                /* only plan: change nothing */
	uint32_t process_local;      /* reserved, 0 */
	uint32_t reserved;
} flow_transfer_request;

typedef struct flow_transfer_info {
	uint32_t struct_size;
	uint32_t reserved;
	const flow_schema *schema; /* FROM: of the records; TO: of the target, or NULL: any. Released by the host */
	int64_t estimated_rows;    /* -1: unknown */
	uint32_t max_parallel;     /* 0: any number */
	uint32_t reserved_2;
} flow_transfer_info;

typedef struct flow_part {
	uint32_t struct_size;
	uint32_t index;
	flow_slice bytes; /* opaque: a partition of FROM, or what a loader gives for commit */
	flow_slice label; /* for people: "id 1 to 50000" */
} flow_part;

typedef struct flow_transfer_counts {
	uint32_t struct_size;
	uint32_t reserved;
	uint64_t read, written, inserted, updated, deleted, rejected;
} flow_transfer_counts;

typedef struct flow_connector_ops {
	uint32_t struct_size;
	uint32_t reserved;
	/* [main] blocking-ok. Optional: can the link be used? */
	flow_status (*test_link)(const flow_host *host, const flow_options *link, flow_error *error);
	/* [main] blocking-ok. May be called in each process that runs parts of the submission: `attach` is then 1 and `shared`
	 * holds the bytes that the first initialize gave (an exported snapshot's name ...). */
	flow_status (*initialize)(const flow_host *host, const flow_transfer_request *request, int attach,
	                          flow_slice shared_in, flow_slice *shared_out, flow_transfer_info *info,
	                          flow_transfer **transfer, flow_error *error);
	/* [main] blocking-ok. FROM: about `wanted` parts; the array belongs to the transfer. */
	flow_status (*partition)(flow_transfer *transfer, uint32_t wanted, const flow_part *const **parts, uint64_t *count,
	                         flow_error *error);
	/* [task] blocking-ok. */
	flow_status (*open_extractor)(flow_transfer *transfer, const flow_part *part, flow_extractor **extractor,
	                              flow_error *error);
	flow_status (*read)(flow_extractor *extractor, flow_builder *builder, flow_error *error); /* [task] blocking-ok; FLOW_END */
	flow_status (*close_extractor)(flow_extractor *extractor, flow_slice *result, flow_error *error); /* [task] blocking-ok */
	/* [task] blocking-ok. One loader per worker; parts may share it. */
	flow_status (*open_loader)(flow_transfer *transfer, uint32_t worker, const flow_schema *schema, flow_loader **loader,
	                           flow_error *error);
	flow_status (*write)(flow_loader *loader, const flow_batch *batch, flow_status *statuses, flow_error *error); /* [task] blocking-ok */
	/* [task] blocking-ok. Everything is staged; *result goes to commit. `success` 0: drop what it staged. */
	flow_status (*close_loader)(flow_loader *loader, int success, flow_slice *result, flow_error *error);
	/* [main] blocking-ok. TO: makes all parts visible at once. FROM: settles its output. *output is the state that the next
	 * run gets. Must be safe to repeat for the same submission. */
	flow_status (*commit)(flow_transfer *transfer, const flow_part *const *results, uint64_t count, flow_slice *output,
	                      flow_transfer_counts *counts, flow_error *error);
	/* [main] blocking-ok. Always called, on both sides; `success` tells whether everything was committed. */
	void (*destroy)(flow_transfer *transfer, int success);
	/* [main] Optional: rewrites stored options of an older version of this connector; both in JSON. */
	flow_status (*upgrade)(const flow_host *host, const char *scope, const char *from_version, flow_slice options,
	                       flow_slice *upgraded, flow_error *error);
} flow_connector_ops;

#ifdef __cplusplus
}
#endif
#endif
