/*
 * The command `node` of programs and scripts: starts Node with facts.cjs and child.cjs. The steps of a submission start the interpreter
 * itself.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FACTS "/opt/assay/node/facts.cjs"
#define CHILD "/opt/assay/node/child.cjs"

static bool is_one_of(const char *word, size_t size, const char *const *list)
{
	for (; *list; list++)
		if (strlen(*list) == size && !strncmp(word, *list, size))
			return true;
	return false;
}

/*
 * Whether Node restricts what the program can do, by an option in front of the program's name or in the environment. It then
 * lets the program read its own file and those that it requires first, but only the latter ones are there with -e, -p or the
 * standard input, and a permission without the restriction is an error.
 */
static bool is_restricted(char **words)
{
	static const char *const restricts[] = {"--permission", "--permission-audit", NULL};
	/* The value of these options can be the next word. */
	static const char *const has_value[] = {"-e", "--eval", "-p", "--print", "-pe", "-r", "--require", "--import", "-C", "--conditions",
		"--input-type", "--allow-fs-read", "--allow-fs-write", "--env-file", "--disable-warning", "--title", NULL};
	const char *options = getenv("NODE_OPTIONS");
	for (size_t size; options && *options; options += size + (options[size] != 0)) {
		size = strcspn(options, " ");
		if (is_one_of(options, size, restricts))
			return true;
	}
	for (; *words && (*words)[0] == '-' && (*words)[1] && strcmp(*words, "--"); words++) {
		if (is_one_of(*words, strlen(*words), restricts))
			return true;
		if (is_one_of(*words, strlen(*words), has_value) && words[1] && words[1][0] != '-')
			words++;
	}
	return false;
}

int main(int count, char **words)
{
	char *command[count + 7], **next = command;
	(void)count;
	*next++ = *words++;
	*next++ = "--require";
	*next++ = FACTS;
	*next++ = "--require";
	*next++ = CHILD;
	if (is_restricted(words)) {
		*next++ = "--allow-fs-read=" FACTS;
		*next++ = "--allow-fs-read=" CHILD;
	}
	while ((*next++ = *words++))
		;
	execv("/opt/assay/node/node", command);
	return 127;
}
