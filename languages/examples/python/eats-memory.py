hoard = []
while True:
    hoard.append(bytearray(1_000_000))
