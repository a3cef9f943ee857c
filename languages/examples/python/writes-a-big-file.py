with open("big", "wb") as file:
    while True:
        file.write(bytes(65536))
