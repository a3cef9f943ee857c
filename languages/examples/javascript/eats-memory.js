// Outside the engine's heap.
const hoard = [];
for (;;) hoard.push(Buffer.alloc(1_000_000, 1));
