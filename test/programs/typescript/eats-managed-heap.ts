const hoard: number[][] = [];
for (;;) hoard.push(new Array<number>(100_000).fill(hoard.length));
