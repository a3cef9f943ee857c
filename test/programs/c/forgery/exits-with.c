#include <stdio.h>

int main(void)
{
	int code = 8;
	scanf("%d", &code);
	return code;
}
