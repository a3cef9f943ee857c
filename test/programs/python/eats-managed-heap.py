hoard = []
while True:
    hoard.append([object() for _ in range(1_000)])
