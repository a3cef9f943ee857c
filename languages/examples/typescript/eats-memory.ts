// Outside the heap that the engine manages.
const hoard: Buffer[] = [];
for (;;) hoard.push(Buffer.alloc(1_000_000, 1));
