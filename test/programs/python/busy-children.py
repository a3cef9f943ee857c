import os
import time

while True:
    child = os.fork()
    if child == 0:
        # Each child stays far below its own limits.
        while time.process_time() < 0.05:
            pass
        os._exit(0)
    os.waitpid(child, 0)
