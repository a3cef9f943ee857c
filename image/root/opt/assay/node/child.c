/* The command `node`: Node with child.cjs. The steps of a submission start the interpreter itself. */
#include <unistd.h>

int main(int count, char **words)
{
	char *command[count + 3];
	command[0] = words[0];
	command[1] = "--require";
	command[2] = "/opt/assay/node/child.cjs";
	for (int i = 1; i <= count; i++) /* with the null pointer at the end */
		command[i + 2] = words[i];
	execv("/opt/assay/node/node", command);
	return 127;
}
