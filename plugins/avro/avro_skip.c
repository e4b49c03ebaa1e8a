/* Skipping values, however deep they are: what is under way lies in memory, not on the stack. */
#include "avro_skip.h"
#include "avro_skip_plain.h"
#include "avro_wire.h"

#define FRAME_MAX ((uint32_t)1 << 20)
#define IDLE_MAX 4096 /* records within records without a byte between them */

struct avro_skip_frame {
	const avro_skip_op *back; /* where to go on behind it */
	const avro_skip *items;   /* an array or map is under way; NULL: a call */
	uint64_t left;            /* items of the block */
	uint64_t is_map;
};

static flow_status
fail(avro_input *input, const char *reason)
{
	input->status = FLOW_E_DECODE;
	input->reason = reason;
	return FLOW_E_DECODE;
}

static flow_status
read_varint(avro_input *input, uint64_t *raw)
{
	const char *at = avro_read_varint(input->at, raw);
	if (at == NULL)
		return fail(input, "a number of more than 64 bits");
	if (at > input->end)
		return fail(input, "the data ends within a number");
	input->at = at;
	return FLOW_OK;
}

static flow_status
skip_text(avro_input *input)
{
	uint64_t raw;
	flow_status status = read_varint(input, &raw);
	if (status != FLOW_OK)
		return status;
	int64_t size = avro_unzigzag(raw);
	if (size < 0)
		return fail(input, "a negative length");
	if (size > input->end - input->at)
		return fail(input, "a length beyond the end of the data");
	input->at += size;
	return FLOW_OK;
}

flow_status
avro_read_block(avro_input *input, uint64_t least, uint64_t *items, uint64_t *bytes)
{
	uint64_t raw;
	*bytes = UINT64_MAX;
	flow_status status = read_varint(input, &raw);
	if (status != FLOW_OK)
		return status;
	int64_t count = avro_unzigzag(raw);
	uint64_t room = (uint64_t)(input->end - input->at);
	if (count < 0) {
		if (count == INT64_MIN)
			return fail(input, "a block of items with an impossible count");
		count = -count;
		status = read_varint(input, &raw);
		if (status != FLOW_OK)
			return status;
		int64_t size = avro_unzigzag(raw);
		room = (uint64_t)(input->end - input->at);
		if (size < 0)
			return fail(input, "a block of items with a negative size");
		if ((uint64_t)size > room)
			return fail(input, "a block of items beyond the end of the data");
		*bytes = room = (uint64_t)size;
	}
	*items = (uint64_t)count;
	if (least != 0 && *items > room / least)
		return fail(input, "more items than the data can hold");
	return FLOW_OK;
}

/* The head of a block, most often of fewer than 64 items without a size: then it is one byte, and the items find the end. */
static inline flow_status
read_flat_block(avro_input *input, uint64_t least, uint64_t *count, uint64_t *bytes)
{
	uint64_t head = (uint8_t)*input->at;
	if (__builtin_expect((head & 0x81) != 0 || input->at == input->end, 0))
		return avro_read_block(input, least, count, bytes);
	input->at++;
	*count = head >> 1;
	*bytes = UINT64_MAX;
	return FLOW_OK;
}

const char *
avro_pass_flat(const avro_skip_op *op, const char *at, const char *end)
{
	const avro_skip *items = op->program;
	uint64_t is_map = op->code == AVRO_SKIP_FLAT_MAP, count, bytes;
	avro_input input = { .at = at, .end = end };
	for (;;) {
		if (read_flat_block(&input, items->least + is_map, &count, &bytes) != FLOW_OK)
			return NULL;
		if (count == 0)
			return input.at;
		if (bytes != UINT64_MAX)
			input.at += bytes;
		if (bytes != UINT64_MAX || (items->count == 0 && !is_map))
			continue;
		for (at = input.at; count != 0; count--) {
			if (is_map && (at = avro_pass_text(1, at, end)) == NULL)
				return NULL;
			at = avro_skip_all(items, at, end);
			if (at == NULL)
				return NULL;
		}
		input.at = at;
	}
}

/* Room for one more frame. NULL: a failure was told. */
static struct avro_skip_frame *
push(avro_input *input, uint32_t depth)
{
	if (depth == FRAME_MAX) {
		fail(input, "nested too deep to be skipped");
		return NULL;
	}
	if (depth == input->frame_capacity) {
		uint32_t capacity = depth == 0 ? 32 : depth * 2;
		struct avro_skip_frame *frames =
			(struct avro_skip_frame *)input->host->reallocate(input->frames, capacity * sizeof(*frames));
		if (frames == NULL) {
			input->status = FLOW_E_MEMORY;
			input->reason = "out of memory";
			return NULL;
		}
		input->frames = frames;
		input->frame_capacity = capacity;
	}
	return &input->frames[depth];
}

/* Blocks that tell their size are passed over whole; *items 0: the end of the array. */
static flow_status
next_block(avro_input *input, const struct avro_skip_frame *frame, uint64_t *items)
{
	uint64_t bytes;
	uint64_t least = frame->items->least + frame->is_map;
	for (;;) {
		flow_status status = avro_read_block(input, least, items, &bytes);
		if (status != FLOW_OK || *items == 0)
			return status;
		if (bytes == UINT64_MAX && (frame->items->count != 0 || frame->is_map))
			return FLOW_OK;
		if (bytes != UINT64_MAX)
			input->at += bytes; /* else items without bytes: nothing to pass over */
	}
}

struct skipping {
	avro_input *input;
	const avro_skip_op *op;
	uint32_t depth;
	uint32_t idle;
	const char *last_call;
};

static flow_status
call(struct skipping *s, const avro_skip *program, const avro_skip_op *back)
{
	if (s->last_call != s->input->at) {
		s->last_call = s->input->at;
		s->idle = 0;
	} else if (++s->idle > IDLE_MAX) {
		return fail(s->input, "a record that holds itself without end");
	}
	if (back->code != AVRO_SKIP_END || s->depth == 0) {
		struct avro_skip_frame *frame = push(s->input, s->depth);
		if (frame == NULL)
			return s->input->status;
		*frame = (struct avro_skip_frame){ .back = back };
		s->depth++;
	} /* else: whoever called goes on behind us */
	s->op = program->ops;
	return FLOW_OK;
}

/* The next item, or what comes behind the array. */
static flow_status
next_item(struct skipping *s)
{
	struct avro_skip_frame *frame = &s->input->frames[s->depth - 1];
	flow_status status = FLOW_OK;
	if (frame->left == 0)
		status = next_block(s->input, frame, &frame->left);
	if (status != FLOW_OK)
		return status;
	if (frame->left == 0) {
		s->op = frame->back;
		s->depth--;
		return FLOW_OK;
	}
	frame->left--;
	s->op = frame->items->ops;
	return frame->is_map ? skip_text(s->input) : FLOW_OK;
}

static flow_status
skip_union(struct skipping *s)
{
	uint64_t raw;
	flow_status status = read_varint(s->input, &raw);
	if (status != FLOW_OK)
		return status;
	if ((raw & 1) != 0 || raw >> 1 >= s->op->count)
		return fail(s->input, "a branch that the union does not have");
	const avro_skip *branch = s->op->branches[raw >> 1];
	if (branch->count == 0) {
		s->op++;
		return FLOW_OK;
	}
	return call(s, branch, s->op + 1);
}

static flow_status
skip_items(struct skipping *s)
{
	struct avro_skip_frame *frame = push(s->input, s->depth);
	if (frame == NULL)
		return s->input->status;
	*frame =
		(struct avro_skip_frame){ .back = s->op + 1, .items = s->op->program, .is_map = s->op->code == AVRO_SKIP_MAP };
	s->depth++;
	return next_item(s);
}

/* An end: 1 when the whole value is done. */
static int
skip_end(struct skipping *s, flow_status *status)
{
	if (s->depth == 0)
		return 1;
	struct avro_skip_frame *frame = &s->input->frames[s->depth - 1];
	if (frame->items != NULL) {
		*status = next_item(s);
		return 0;
	}
	s->op = frame->back;
	s->depth--;
	return 0;
}

/* Why the value of one operation at `at` is refused; `raw`: the number there, `behind`: behind it. */
static const char *
reason_of(const avro_skip_op *op, uint64_t raw, const char *behind, const char *end)
{
	if (op->code == AVRO_SKIP_BYTES)
		return "the data ends within a value";
	if (behind == NULL)
		return "a number of more than 64 bits";
	if (behind > end)
		return "the data ends within a number";
	if (op->code == AVRO_SKIP_TEXT)
		return (raw & 1) != 0 ? "a negative length" : "a length beyond the end of the data";
	if (op->code >= AVRO_SKIP_FLAT_ARRAY)
		return "an array or map that the data does not hold";
	if (op->code >= AVRO_SKIP_NULLABLE_VARINT && raw != 0 && raw != 2)
		return "a branch that the union does not have";
	return "the data ends within a value";
}

const char *
avro_skip_reason(const avro_skip_op *op, const char **at, const char *end)
{
	for (;; op++) {
		avro_skip_op steps[2] = { *op, { .code = AVRO_SKIP_END } };
		const avro_skip_op *step = steps;
		uint64_t raw = 0;
		const char *behind = avro_read_number(*at, &raw);
		if (op->code == AVRO_SKIP_NULLABLE && behind != NULL && behind <= end && (raw == 0 || raw == 2)) {
			op += raw >> 1 == op->null_index ? op->count : 0;
			*at = behind;
			continue;
		}
		const char *next = op->code == AVRO_SKIP_NULLABLE ? NULL : avro_skip_plain(&step, *at, end);
		if (next == NULL)
			return reason_of(op, raw, behind, end);
		*at = next;
	}
}

/* Operations that follow one another without leaving the list. */
static flow_status
skip_plain(struct skipping *s)
{
	const avro_skip_op *op = s->op;
	const char *behind = avro_skip_plain(&s->op, s->input->at, s->input->end);
	if (__builtin_expect(behind != NULL, 1)) {
		s->input->at = behind;
		return FLOW_OK;
	}
	return fail(s->input, avro_skip_reason(op, &s->input->at, s->input->end));
}

flow_status
avro_skip_value(avro_input *input, const avro_skip *program)
{
	struct skipping s = { .input = input, .op = program->ops };
	flow_status status = skip_plain(&s);
	if (status == FLOW_OK && s.op->code == AVRO_SKIP_END)
		return FLOW_OK; /* depth is 0 */
	while (status == FLOW_OK) {
		switch (s.op->code) {
		case AVRO_SKIP_UNION:
			status = skip_union(&s);
			break;
		case AVRO_SKIP_ARRAY:
		case AVRO_SKIP_MAP:
			status = skip_items(&s);
			break;
		case AVRO_SKIP_CALL:
			status = call(&s, s.op->program, s.op + 1);
			break;
		case AVRO_SKIP_END:
			if (skip_end(&s, &status))
				return FLOW_OK;
			break;
		default:
			status = skip_plain(&s);
		}
	}
	return status;
}
