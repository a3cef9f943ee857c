import atexit
import sys
import threading


class Broken(Exception):
    pass


def inner():
    raise Broken("inner")


def outer():
    try:
        inner()
    except Broken as error:
        raise ValueError("outer") from error


atexit.register(print, "at exit")
thread = threading.Thread(target=outer, name="second")
thread.start()
thread.join()
print(threading.current_thread().name, threading.main_thread() is threading.current_thread())
sys.stdout.flush()
outer()
