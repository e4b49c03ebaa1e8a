/* A shared object that has nothing to do with flowd. */
__attribute__((visibility("default"))) int foreign_number(void);

int
foreign_number(void)
{
	return 42;
}
