/*
 * Prints, as JSON, the filter as it is passed to the kernel and the lists from which it is built, for the target architecture.
 */
#include "../../../launcher/seccomp.c"

#include <stdio.h>

#define GROUP(...)
#define IN_SANDBOX(...)
#define SANDBOX_RULE(...)
static const char *const refused_names[] = {
#define ALLOW(...)
#define RULE(...)
#define REFUSE(name, err, reason) #name,
#define KEYED(name, ...) #name,
#define KEYED_FOR(column, name, ...) #name,
#include "../../../launcher/seccomp.def"
#undef ALLOW
#undef REFUSE
#undef KEYED
#undef KEYED_FOR
};
static const char *const allowed_names[] = {
#define ALLOW(group, name) #name,
#define REFUSE(...)
#define KEYED(...)
#define KEYED_FOR(...)
#include "../../../launcher/seccomp.def"
#undef ALLOW
#undef RULE
};
static const char *const rule_names[] = {
#define ALLOW(...)
#define RULE(name, ...) #name,
#include "../../../launcher/seccomp.def"
};
static const char *const kinds[] = {"ONE_OF", "NONE_OF", "NO_BIT_BUT", "NO_BIT_OF", "BELOW"};

/* The argument is a number: the columns of the filter. Without it, the filter is that of submissions. */
int main(int argc, char **argv)
{
	struct failure f = {0};
	const unsigned columns = argc > 1 ? (unsigned)atoi(argv[1]) : SECCOMP_SUBMISSION;
	if (seccomp_prepare(columns, &f) < 0)
		return 1;
	printf("{\"arch\":%u,\"key\":\"%llu\",\"allowed\":[", NATIVE, (unsigned long long)seccomp_key);
	for (int i = 0; i < ALLOWED_CALLS; i++)
		printf("%s[\"%s\",%ld]", i ? "," : "", allowed_names[i], allowed[i]);
	printf("],\"refused\":[");
	for (int i = 0; i < REFUSED; i++) {
		int key = (refused[i].column & columns) == refused[i].column ? refused[i].arguments : NEVER;
		printf("%s[\"%s\",%ld,%d,%d]", i ? "," : "", refused_names[i], refused[i].number, refused[i].err, key);
	}
	printf("],\"rules\":[");
	for (int i = 0; i < RULES; i++) {
		const struct rule *r = &rules[i];
		printf("%s{\"name\":\"%s\",\"number\":%ld,\"when\":%d,\"whenValue\":%u,\"argument\":%d,\"kind\":\"%s\",\"errno\":%d,\"values\":[",
		       i ? "," : "", rule_names[i], r->number, r->when, r->when_value, r->argument, kinds[r->kind], r->err);
		for (int v = 0; v < r->count; v++)
			printf("%s%u", v ? "," : "", r->values[v]);
		printf("]}");
	}
	printf("],\"program\":[");
	for (unsigned short i = 0; i < length; i++)
		printf("%s[%u,%u,%u,%u]", i ? "," : "", program[i].code, program[i].jt, program[i].jf, program[i].k);
	printf("]}\n");
	return 0;
}
