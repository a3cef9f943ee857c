import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { test } from "node:test";
import { admitPipelined, BurstGuard } from "../../../src/http/listener/burst-guard.ts";
import { noting } from "../../support/metrics/noting.ts";

/** A guard, and a connection of one address to its server. @returns whether the connection was closed at once. */
function guarded() {
  const { meter, times } = noting();
  const server = new EventEmitter();
  new BurstGuard(meter).watch(server as Server);
  const connect = (bytes: number, requests = 0): boolean => {
    let isRefused = false;
    const destroy = () => {
      isRefused = true;
    };
    const raw = Object.assign(new EventEmitter(), { remoteAddress: "192.0.2.1", bytesRead: bytes, destroy });
    server.emit("connection", raw);
    if (isRefused) return true;
    const secure = Object.assign(new EventEmitter(), { _parent: raw, bytesRead: requests * 100, destroyed: false });
    server.emit("secureConnection", secure);
    for (let request = 0; request < requests; request++) {
      const response = new EventEmitter();
      admitPipelined({ socket: secure } as unknown as IncomingMessage, response as ServerResponse, meter);
      response.emit("close");
    }
    raw.emit("close");
    return false;
  };
  return { connect, refused: () => times("connectionsRefused records") };
}

/** More handshakes than an address can make at once, even if a busy machine needs seconds for them. */
const MANY = 2_000;

test("handshakes without a request are refused when there are many, with a request they are not", () => {
  const { connect, refused } = guarded();
  for (let at = 0; at < MANY; at++) assert.equal(connect(700, 1), false);
  let accepted = 0;
  while (!connect(600) && accepted < MANY) accepted++;
  assert.ok(accepted >= 256 && accepted < MANY, `${accepted} accepted`);
  assert.equal(refused(), 1);
  assert.equal(connect(700, 1), true, "also one that would bring a request");
});

test("a connection without a byte, as of a load balancer, is free", () => {
  const { connect } = guarded();
  for (let at = 0; at < MANY; at++) assert.equal(connect(0), false);
});
