try:
    with open("big", "wb") as file:
        while True:
            file.write(bytes(1 << 16))
except OSError as error:
    print(error.errno)
