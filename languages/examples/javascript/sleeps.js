setTimeout(() => {}, 600_000);
