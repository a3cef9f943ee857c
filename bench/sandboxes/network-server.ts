import { createServer } from "node:net";

/*
 * What the rows of `network` connect to: a process on an address of this machine, the argument, which returns each byte `p`, and sends as many bytes as a line
 * `d123` says. It sends its port to its parent.
 */

const [, , address = ""] = process.argv;
const PIECE = Buffer.alloc(262_144, 1);

const server = createServer({ noDelay: true }, (socket) => {
  socket.on("error", () => {}); // the client has left
  socket.on("data", (bytes) => {
    if (bytes[0] === 112) {
      socket.write("p");
      return;
    }
    let left = Number(bytes.toString().slice(1));
    const send = () => {
      while (left > 0) {
        const piece = PIECE.subarray(0, left);
        left -= piece.length;
        if (!socket.write(piece)) return;
      }
      socket.end();
    };
    socket.on("drain", send);
    send();
  });
});
server.listen(0, address, () => {
  const there = server.address();
  process.send?.(typeof there === "object" && there?.port);
});
process.once("disconnect", () => process.exit());
