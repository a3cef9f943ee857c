import threading


def spin():
    while True:
        pass


for _ in range(3):
    threading.Thread(target=spin).start()
spin()
