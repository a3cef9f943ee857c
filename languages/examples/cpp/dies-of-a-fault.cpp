int main()
{
	volatile int *nowhere = nullptr;
	return *nowhere;
}
