#include <thread>

static void spin()
{
	for (volatile unsigned i = 0;; i = i + 1)
		;
}

int main()
{
	for (int i = 0; i < 3; i++)
		std::thread(spin).detach();
	spin();
}
