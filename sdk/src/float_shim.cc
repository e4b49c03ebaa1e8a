// Doubles <-> text by the C++ library's <charconv> (exact, shortest); the only C++ of the kit. Declared in number_float.h.
#include <charconv>

#include "number_float.h"

extern "C" int
float_read(const char *text, uint64_t size, double *number)
{
	auto result = std::from_chars(text, text + size, *number);
	if (result.ptr != text + size)
		return FLOAT_MALFORMED;
	return result.ec == std::errc::result_out_of_range ? FLOAT_OUT_OF_RANGE : FLOAT_READ;
}

extern "C" uint64_t
float_write(double number, char *buffer, uint64_t size)
{
	double magnitude = number < 0 ? -number : number;
	bool plain = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
	auto format = plain ? std::chars_format::fixed : std::chars_format::scientific;
	return static_cast<uint64_t>(std::to_chars(buffer, buffer + size, number, format).ptr - buffer);
}
