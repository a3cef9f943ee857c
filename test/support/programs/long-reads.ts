/** 60 processes in the longest reads that the filter allows, of a file in memory. No signal ends one. */
export const LONG_READS = `
import io, mmap, os
size = (128 << 20) - 1
file = os.memfd_create("data")
area = mmap.mmap(-1, size)
os.truncate(file, size)
data = mmap.mmap(file, size)
for at in range(0, size, 4096): data[at] = area[at] = 1
for process in range(59):
    if os.fork() == 0: break
own = io.FileIO(os.open(f"/proc/self/fd/{file}", os.O_RDONLY))
view = memoryview(area)
while True:
    own.seek(0)
    assert own.readinto(view) == size
`;
