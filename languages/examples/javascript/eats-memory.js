// Outside the heap that the engine manages.
const hoard = [];
for (;;) hoard.push(Buffer.alloc(1_000_000, 1));
