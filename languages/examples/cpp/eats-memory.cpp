#include <list>
#include <vector>

int main()
{
	std::list<std::vector<char>> hoard;
	for (;;)
		hoard.emplace_back(1 << 20, 'x');
}
