/* JSON lines filtered by hand over simdjson's full parse (bench/serde_loops.h). */
#include <cstring>

#include <simdjson.h>

#include "bench/serde_loops.h"

static char *
put_text(char *out, const char *key, size_t key_size, std::string_view text)
{
	memcpy(out, key, key_size);
	out += key_size;
	*out++ = '"';
	for (char c : text) {
		if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20)
			*out++ = '\\';
		*out++ = c;
	}
	*out++ = '"';
	return out;
}

static char *
put_integer(char *out, const char *key, size_t key_size, int64_t number)
{
	char digits[20];
	int count = 0;
	memcpy(out, key, key_size);
	out += key_size;
	do {
		digits[count++] = static_cast<char>('0' + number % 10);
		number /= 10;
	} while (number != 0);
	while (count > 0)
		*out++ = digits[--count];
	return out;
}

#define KEY(text) text, sizeof(text) - 1

extern "C" uint64_t
loop_json_filter(const char *text, uint64_t size, char *out)
{
	static simdjson::dom::parser parser;
	char *start = out;
	simdjson::dom::document_stream documents;
	if (parser.parse_many(text, size, 1 << 20).get(documents) != simdjson::SUCCESS)
		return 0;
	for (auto document : documents) {
		simdjson::dom::element id, time, user, status;
		simdjson::dom::object object;
		if (document.get_object().get(object) != simdjson::SUCCESS)
			continue;
		for (auto field : object) {
			if (field.key == "id")
				id = field.value;
			else if (field.key == "time")
				time = field.value;
			else if (field.key == "user")
				user = field.value;
			else if (field.key == "status")
				status = field.value;
		}
		if (int64_t(status) <= 200)
			continue;
		out = put_integer(out, KEY("{\"id\":"), int64_t(id));
		out = put_text(out, KEY(",\"time\":"), std::string_view(time));
		out = put_text(out, KEY(",\"user\":"), std::string_view(user));
		out = put_integer(out, KEY(",\"status\":"), int64_t(status));
		*out++ = '}';
		*out++ = '\n';
	}
	return static_cast<uint64_t>(out - start);
}

extern "C" uint64_t
loop_json_parse(const char *text, uint64_t size, char *out)
{
	static simdjson::dom::parser parser;
	simdjson::dom::document_stream documents;
	uint64_t count = 0;
	(void)out;
	if (parser.parse_many(text, size, 1 << 20).get(documents) != simdjson::SUCCESS)
		return 0;
	for (auto document : documents)
		count += document.error() == simdjson::SUCCESS;
	return count;
}
