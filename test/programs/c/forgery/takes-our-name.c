/* Takes the name of the box's init wherever a name is shown, and sleeps past the deadline. */
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	(void)argc;
	prctl(PR_SET_NAME, "assay-init");
	memset(argv[0], 0, strlen(argv[0]));
	memcpy(argv[0], "assay-i", 6);
	fork();
	for (;;)
		pause();
}
