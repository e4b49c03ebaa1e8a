/* JSON documents to Avro (bench/kafka_loop_json.h). */
#include "bench/kafka_loop_json.h"

#include <cstring>

#include <simdjson.h>

static char *
put_long(char *out, int64_t number)
{
	uint64_t left = (static_cast<uint64_t>(number) << 1) ^ static_cast<uint64_t>(number >> 63);
	for (; left >= 0x80; left >>= 7)
		*out++ = static_cast<char>(left | 0x80);
	*out++ = static_cast<char>(left);
	return out;
}

static char *
put_string(char *out, std::string_view text)
{
	out = put_long(out, static_cast<int64_t>(text.size()));
	memcpy(out, text.data(), text.size());
	return out + text.size();
}

extern "C" size_t
loop_json_to_avro(const void *text, size_t size, char out[LOOP_AVRO_MOST])
{
	static simdjson::dom::parser parser;
	static char padded[65536 + simdjson::SIMDJSON_PADDING];
	if (size > 65536)
		return LOOP_JSON_BAD;
	memcpy(padded, text, size);
	simdjson::dom::object object;
	if (parser.parse(padded, size, false).get_object().get(object) != simdjson::SUCCESS)
		return LOOP_JSON_BAD;
	int64_t id = 0, status = 0;
	std::string_view time, user;
	int found = 0;
	for (auto field : object) {
		if (field.key == "id")
			found += field.value.get(id) == simdjson::SUCCESS;
		else if (field.key == "time")
			found += field.value.get(time) == simdjson::SUCCESS;
		else if (field.key == "user")
			found += field.value.get(user) == simdjson::SUCCESS;
		else if (field.key == "status")
			found += field.value.get(status) == simdjson::SUCCESS;
	}
	if (found != 4 || time.size() + user.size() > LOOP_AVRO_MOST - 40)
		return LOOP_JSON_BAD;
	if (status <= 200)
		return 0;
	char *end = put_string(put_string(put_long(out, id), time), user);
	return static_cast<size_t>(put_long(end, status) - out);
}
