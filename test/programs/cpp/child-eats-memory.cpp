#include <list>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

static void eat()
{
	std::list<std::vector<char>> hoard;
	for (;;)
		hoard.emplace_back(1 << 20, 'x');
}

int main()
{
	int status;
	pid_t child = fork();
	if (child == 0)
		eat();
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? 0 : 1;
}
