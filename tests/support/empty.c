/* So that the library is never empty. */
typedef int test_support_is_here;
