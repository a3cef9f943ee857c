/*
 * Programs in Python for the tests of egress. They only report what happened to them; the tests say what may.
 */

/**
 * `attempt(host, port)` connects, sends a request, and returns in a word how it ended: `answered`, with the beginning of the answer, or the name of the
 * error, or `hangs`.
 */
export const ATTEMPT = `
import errno, json, socket, ssl, struct, sys, threading, time
REQUEST = b"GET / HTTP/1.1\\r\\nHost: HOST\\r\\n\\r\\n"
def attempt(host, port, send=None, family=0):
    try: where = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)[0]
    except OSError: return "no such name"
    except UnicodeError: return "no such name"
    s = socket.socket(where[0], socket.SOCK_STREAM)
    s.settimeout(50)
    try:
        s.connect(where[4])
        s.sendall(REQUEST.replace(b"HOST", host.encode()) if send is None else send)
        data = s.recv(100)
        return "answered " + data.decode("latin1").split("\\r\\n")[0] if data else "ended"
    except TimeoutError: return "hangs"
    except OSError as e: return errno.errorcode.get(e.errno, str(e))
    finally: s.close()
`;

/** Attempts to reach each of the hosts in its argument, which is JSON, on port 80. Writes an object with the outcome of each. */
export const ATTEMPT_ALL = `${ATTEMPT}
print(json.dumps({host: attempt(host, 80) for host in json.loads(sys.argv[1])}))
`;

/** Asks DNS, by any server, in any way: getaddrinfo, and messages over UDP and TCP. The argument has the names. Writes the codes of all responses. */
export const ASK_NAMES = `${ATTEMPT}
def query(name, kind):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in name.split("."))
    return b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0" + labels + b"\\0" + struct.pack(">HH", kind, 1)
def udp(server, message):
    s = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(50)
    s.sendto(message, (server, 53))
    return s.recv(4096)[3] & 15
def tcp(server, message):
    s = socket.create_connection((server, 53), 50)
    s.sendall(struct.pack(">H", len(message)) + message)
    return s.recv(4096)[5] & 15
codes = []
for name in json.loads(sys.argv[1]):
    for kind in (1, 2, 5, 15, 16, 28, 33, 64, 65, 255):
        for server in ("8.8.8.8", "9.9.9.9", "10.0.0.53", "2001:4860:4860::8888"): codes.append(udp(server, query(name, kind)))
    codes.append(tcp("9.9.9.9", query(name, 16)))
    try: socket.getaddrinfo(name, 443); codes.append(0)
    except OSError: codes.append(3)
print(json.dumps(codes))
`;

/** TLS to a name by its address, with a server name of its own, or none. Arguments: the name that is dialled, and the server name. */
export const TLS = `${ATTEMPT}
dialled, name = sys.argv[1], sys.argv[2]
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
s = socket.create_connection((dialled, 443), 50)
try:
    s = context.wrap_socket(s, server_hostname=name or None)
    s.sendall(REQUEST.replace(b"HOST", dialled.encode()))
    print("answered", s.recv(100).decode("latin1").split("\\r\\n")[0])
except OSError as e: print(type(e).__name__)
`;

/**
 * The ClientHello of a connection to api.example.com, as OpenSSL writes it, in pieces of one byte and in TLS records of 64 bytes; then the answer
 * of the server decides.
 */
export const FRAGMENTED_HELLO = `${ATTEMPT}
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = context.wrap_bio(incoming, outgoing, server_hostname="api.example.com")
try: tls.do_handshake()
except ssl.SSLWantReadError: pass
hello = outgoing.read()[5:]
records = b"".join(b"\\x16\\3\\1" + struct.pack(">H", len(hello[at:at + 64])) + hello[at:at + 64] for at in range(0, len(hello), 64))
s = socket.create_connection(("api.example.com", 443), 50)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for at in range(len(records)): s.sendall(records[at:at + 1])
while True:
    incoming.write(s.recv(65536))
    try: tls.do_handshake(); break
    except ssl.SSLWantReadError: pass
print("answered")
`;

/** All kinds of sockets that are not TCP, and what sending by them to a public host does. */
export const OTHER_SOCKETS = `${ATTEMPT}
def tried(what, do):
    try: print(what, do())
    except OSError as e: print(what, errno.errorcode.get(e.errno, e.errno))
def datagram(family, host, port):
    s = socket.socket(family, socket.SOCK_DGRAM); s.settimeout(50); s.connect((host, port)); s.send(b"\\xc0\\0\\0\\0\\1" + bytes(1195)); return s.recv(10)
tried("quic", lambda: datagram(socket.AF_INET, "23.1.1.1", 443))
tried("quic6", lambda: datagram(socket.AF_INET6, "2600::1", 443))
tried("ntp", lambda: datagram(socket.AF_INET, "23.1.1.1", 123))
def connectionless():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for n in range(100): s.sendto(b"x", ("23.1.1.1", 1 + n * 600))
    return "sent"
tried("datagrams", connectionless)
for what, family, kind, protocol in (
    ("ping", socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP), ("ping6", socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6),
    ("icmp", socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), ("raw", socket.AF_INET, socket.SOCK_RAW, 255),
    ("sctp", socket.AF_INET, socket.SOCK_STREAM, 132), ("sctp6", socket.AF_INET6, socket.SOCK_SEQPACKET, 132), ("udplite", socket.AF_INET, socket.SOCK_DGRAM, 136),
    ("dccp", socket.AF_INET, 6, 33), ("mptcp", socket.AF_INET, socket.SOCK_STREAM, 262), ("packet", 17, socket.SOCK_RAW, 3), ("vsock", 40, socket.SOCK_STREAM, 0),
    ("netlink", 16, socket.SOCK_RAW, 0), ("xdp", 44, socket.SOCK_RAW, 0), ("alg", 38, socket.SOCK_SEQPACKET, 0), ("tipc", 30, socket.SOCK_STREAM, 0), ("smc", 43, socket.SOCK_STREAM, 0),
): tried(what, lambda: socket.socket(family, kind, protocol) and "opened")
`;

/**
 * Connections that each take all that they can get of a port of the fake internet. Arguments: name, port, how many, what each sends first, and whether
 * it sends without end. Writes the bytes that were received together, and the number of connections that began.
 */
export const RACE = `${ATTEMPT}
# One query for all: a sandbox may have 32 sockets of UDP at the same time.
host, port, count, first, endless = socket.gethostbyname(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode(), sys.argv[5] == "send"
got, begun = [0] * count, [0]
start = threading.Barrier(count)
def one(n):
    s = socket.create_connection((host, port), 50); s.settimeout(50)
    start.wait()
    begun[0] += 1
    try:
        s.sendall(first)
        while endless: s.sendall(bytes(16384))
        while True:
            data = s.recv(65536)
            if not data: break
            got[n] += len(data)
    except OSError: pass
threads = [threading.Thread(target=one, args=(n,)) for n in range(count)]
for t in threads: t.start()
for t in threads: t.join()
print(json.dumps([sum(got), begun[0]]))
`;
