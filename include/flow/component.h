/*
 * flow/component.h - what a plugin holds: components. Each kind has its table of functions in a header of its own.
 */
#ifndef FLOW_COMPONENT_H
#define FLOW_COMPONENT_H

#include "flow/abi.h"
#include "flow/error.h"
#include "flow/option.h"

#ifdef __cplusplus
extern "C" {
#endif

/* flow_component.kind */
#define FLOW_SYSTEM 1      /* where streams live               flow/system.h      flow_system_ops */
#define FLOW_SERDE 2       /* bytes <-> values                 flow/serde.h       flow_serde_ops */
#define FLOW_TRANSFORMER 3 /* changes records as they come in  flow/transformer.h flow_transformer_ops */
#define FLOW_EXPANDER 4    /* one logical input -> several     flow/expander.h    flow_expander_ops */
#define FLOW_TABLE 5       /* keyed rows, read and written     flow/table.h       flow_table_ops */
#define FLOW_CONNECTOR 6   /* FROM and TO of transfers         flow/connector.h   flow_connector_ops */
#define FLOW_FUNCTION 7    /* process functions                flow/function.h    flow_function_ops */
#define FLOW_APPLICATION 8 /* descriptors and a graph in C     flow/application.h flow_application_ops */
#define FLOW_STORE 9       /* ordered key-value engine         flow/store.h       flow_store_ops */

/* flow_component.flags: what the planner must know before anything is opened. */
#define FLOW_SYSTEM_HAS_INPUTS 1u
#define FLOW_SYSTEM_HAS_OUTPUTS 2u
#define FLOW_SYSTEM_OWN_SERDE 4u        /* it dictates the form of its records; a stream's serde is refused */
#define FLOW_SYSTEM_BYTE_STREAMS 8u     /* its raw batches are FLOW_BATCH_STREAM (files, sockets) */
#define FLOW_SYSTEM_SHARED 16u          /* other processes see it: may carry exchanges */
#define FLOW_SYSTEM_ALWAYS_BOUNDED 32u  /* every input ends */
#define FLOW_SYSTEM_INTERMEDIATE 64u    /* may be the default system: topics can be made, written and read back */
/* Its inputs are turned into other inputs by the expander with the system's id, of the same plugin; it is never opened for them. */
#define FLOW_SYSTEM_EXPANDS 128u
/* Records of its inputs go through the transformer with the system's id, of the same plugin, unless a stream names another one. */
#define FLOW_SYSTEM_TRANSFORMS 256u
#define FLOW_SERDE_STREAM 1u            /* can cut records out of a byte stream, and write one */
#define FLOW_SERDE_RECORD 2u            /* one record, one run of bytes */
#define FLOW_SERDE_BYTES_ONLY 4u        /* values are the bytes themselves: nothing to decode */
#define FLOW_SERDE_UNTYPED 8u           /* reads and writes values of kind any: each value says its own type */
#define FLOW_TABLE_LOCAL 1u             /* lives in this process */
#define FLOW_TABLE_DURABLE 2u           /* survives kill -9 by itself; without it, what feeds the table is read anew at start */
#define FLOW_TABLE_UPDATES 4u           /* update, conditional put */
#define FLOW_CONNECTOR_FROM 1u
#define FLOW_CONNECTOR_TO 2u
#define FLOW_CONNECTOR_DELTA_EXTRACT 4u
#define FLOW_CONNECTOR_DELTA_LOAD 8u
#define FLOW_STORE_ATOMIC_BATCH 1u      /* a batch is written whole or not at all, across kill -9 */

typedef struct flow_component {
	uint32_t struct_size;
	uint32_t kind;
	uint32_t flags;
	uint32_t reserved;
	const char *id;  /* [a-z][a-z0-9_]*; the word that configurations use */
	const char *doc; /* first sentence is the summary */
	const flow_option_set *const *option_sets; /* NULL-terminated, or NULL */
	const void *ops;                           /* the kind's table; its first member is struct_size */
	const char *const *capabilities;           /* ids with a life of their own, NULL-terminated, or NULL */
	/* Words by which a command line finds it (`flowd cat`, `flowd convert`), NULL-terminated, or NULL. A serde: suffixes of files in
	 * its format, "csv"; options that hold for such files may follow, each behind a tab: "tsv\tdelimiter=\\t". A system: schemes of addresses,
	 * "kafka" ("file" takes paths without a scheme too), and with a dot the suffixes that it takes off files itself, ".gz". */
	const char *const *served;
} flow_component;

#ifdef __cplusplus
}
#endif
#endif
