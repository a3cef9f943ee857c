#include <fstream>
#include <vector>

int main()
{
	std::ofstream file("big");
	const std::vector<char> block(65536);
	while (file.write(block.data(), block.size()))
		;
	return 1;
}
