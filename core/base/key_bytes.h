/*
 * base/key_bytes.h - the classes of canonical keys; for base/key_encode.c and base/key_decode.c. They are persisted: never change one.
 *
 *   null       08
 *   bool       10 (00 | 01)
 *   number     20 whole fraction 00                integers and decimals, by value
 *   float      30 8 bytes                          IEEE, all bits inverted below zero, else the sign bit; NaN is 7ff8...
 *   string     40 text 00                          00 in it is 01 01, 01 is 01 02
 *   bytes      41 likewise
 *   date       50 whole                            days
 *   time       51 whole 4 bytes                    seconds, nanoseconds: the unit does not count
 *   timestamp  52 likewise                         an instant
 *   local      53 likewise                         without zone
 *   uuid       60 16 bytes
 *   list       70 items 00
 *   record     71 fields 00
 *
 * whole: the number rounded down to an integer: 80 + n (zero and above) or 80 - n (below), n bytes of magnitude, big-endian, inverted
 * below zero; n = 0 to 8. fraction: what is left, at least 0 and below 1, two decimal digits d a byte as d + 1, no trailing zeros.
 * Numbers from 2^64 up: 20 f0, then 4 bytes number of digits before the point, then all digits as in a fraction, 00; from -2^64 down
 * the same after 20 10, with all bytes inverted (and not rounded down). 20 00 is -infinity, 20 fe infinity, 20 ff NaN.
 */
#ifndef BASE_KEY_BYTES_H
#define BASE_KEY_BYTES_H

#define KEY_END 0x00
#define KEY_NULL 0x08
#define KEY_BOOL 0x10
#define KEY_NUMBER 0x20
#define KEY_FLOAT 0x30
#define KEY_STRING 0x40
#define KEY_BYTES 0x41
#define KEY_DATE 0x50
#define KEY_TIME 0x51
#define KEY_TIMESTAMP 0x52
#define KEY_LOCAL_TIMESTAMP 0x53
#define KEY_UUID 0x60
#define KEY_LIST 0x70
#define KEY_RECORD 0x71

#define KEY_WHOLE_ZERO 0x80
#define KEY_MINUS_INFINITY 0x00
#define KEY_HUGE_NEGATIVE 0x10
#define KEY_HUGE 0xF0
#define KEY_INFINITY 0xFE
#define KEY_NAN 0xFF

#define KEY_DEPTH_MAX 64 /* lists and records in lists and records */

#endif
