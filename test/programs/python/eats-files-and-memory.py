MEBIBYTE = 1 << 20


def fill(directory, files):
    for number in range(files):
        with open(f"{directory}/{number}", "wb") as file:
            for _ in range(8):
                file.write(bytes(MEBIBYTE))


memory = b"x" * (180 * MEBIBYTE)
print("the memory fits", flush=True)
fill("/tmp", 3)
fill("/dev/shm", 3)
fill("/box", 6)
