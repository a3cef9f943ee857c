#include <thread>
#include <unistd.h>

int main()
{
	for (;;)
		std::thread([] { sleep(600); }).detach();
}
