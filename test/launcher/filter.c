/*
 * The filter as the kernel gets it, and what it was made from, as JSON: of the architecture that this is compiled for.
 */
#include "../../launcher/seccomp.c"

#include <stdio.h>

int main(void)
{
	static const struct { const char *name; long number; } judged[] = {
		{"socket", __NR_socket}, {"socketpair", __NR_socketpair}, {"clone", __NR_clone}, {"mmap", __NR_mmap},
		{"memfd_create", __NR_memfd_create}, {"shmget", __NR_shmget}, {"ioctl", __NR_ioctl}, {"prctl", __NR_prctl},
		{"setrlimit", __NR_setrlimit}, {"prlimit64", __NR_prlimit64},
	};
	static const char *const names[] = {
#define CALL(name, err, reason) #name,
#include "../../launcher/seccomp.def"
#undef CALL
	};
	struct failure f = {0};
	if (seccomp_prepare(&f) < 0)
		return 1;
	printf("{\"arch\":%u,\"known\":%d,\"key\":\"%llu\",\"denied\":[", NATIVE, CALLS_KNOWN, (unsigned long long)limits_key);
	for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
		printf("%s[\"%s\",%ld,%d]", i ? "," : "", names[i], denied[i].number, denied[i].err);
	printf("],\"judged\":{");
	for (size_t i = 0; i < sizeof judged / sizeof *judged; i++)
		printf("%s\"%s\":%ld", i ? "," : "", judged[i].name, judged[i].number);
	printf("},\"program\":[");
	for (unsigned short i = 0; i < length; i++)
		printf("%s[%u,%u,%u,%u]", i ? "," : "", program[i].code, program[i].jt, program[i].jf, program[i].k);
	printf("]}\n");
	return 0;
}
