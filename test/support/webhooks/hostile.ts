/** IPv4 addresses that are never public receivers: the first and last of each block. */
export const NOT_GLOBAL_4 = [
  ...["0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.100.100.200", "100.127.255.255"],
  ...[
    "127.0.0.0",
    "127.0.0.1",
    "127.255.255.255",
    "168.63.129.16",
    "169.254.0.0",
    "169.254.169.254",
    "169.254.255.255",
  ],
  ...["172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.192", "192.0.0.255", "192.0.2.0", "192.0.2.255"],
  ...["192.31.196.1", "192.52.193.1", "192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255", "192.175.48.1"],
  ...["198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255"],
  ...["224.0.0.0", "239.255.255.250", "239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255"],
];

export const NOT_GLOBAL_6 = [
  ...["::", "::1", "::2", "::7f00:1", "::127.0.0.1", "::10.0.0.1"], // unspecified, loopback, compatible
  ...["::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "0:0:0:0:0:ffff:169.254.169.254"], // mapped
  ...["::ffff:0:127.0.0.1", "::ffff:0:8.8.8.8"], // translated
  ...["64:ff9b::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::8.8.8.8", "64:ff9b:1::10.0.0.1", "64:ff9b:1:a00:0:100::"], // NAT64
  ...["64:ff9b:2::1", "100::1", "100:0:0:1::1", "200::1", "400::1", "1000::1"],
  ...["2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1"], // 6to4
  ...["2001::1", "2001:0:4136:e378:8000:63bf:80ff:fffe", "2001:0:7f00:1::"], // Teredo
  ...["2001:1::1", "2001:2::1", "2001:3::1", "2001:4:112::1", "2001:10::1", "2001:20::1", "2001:30::1", "2001:1ff::1"],
  ...["2a00:1450::5efe:127.0.0.1", "2a00:1450::5efe:a00:1", "2a00:1450::200:5efe:10.0.0.1"], // ISATAP
  ...["2001:db8::1", "3fff::1", "3fff:fff::1", "3ffe::1", "3ffe:831f::1", "2620:4f:8000::1"],
  ...["4000::1", "5f00::1", "8000::1", "c000::1", "e000::1", "f000::1", "fbff::1"],
  ...[
    "fc00::1",
    "fd00:ec2::254",
    "fdff::1",
    "fe00::1",
    "fe80::1",
    "fe80::5efe:10.0.0.1",
    "febf::1",
    "fec0::1",
    "feff::1",
  ],
  ...["ff00::1", "ff02::1", "ff05::2", "ff0e::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
];

/** URLs that reach this machine's loopback on that port, or could, depending on the parser. */
export const loopbackUrls = (port: number): string[] =>
  [
    ...["127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.1", "0x7F.0x0.0x0.0x1"],
    ...["0177.0.0.1", "017700000001", "0177.0x0.00.1", "127.0.0.1.", "0", "0.0.0.0", "0x0", "00000000000"],
    ...[
      "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
      "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460",
      "127\u30020\u30020\u30021",
    ],
    ...["127\uff0e0\uff0e0\uff0e1", "%31%32%37.0.0.1", "127%2e0%2e0%2e1", "1\u00ad27.0.0.1"],
    ...[
      "localhost",
      "LOCALHOST",
      "LocalHost.",
      "localhost..",
      "\uff4cocalhost",
      "a.localhost",
      "localhost.localdomain",
    ],
    ...["[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[0000::0001]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"],
    ...[
      "[::ffff:0:127.0.0.1]",
      "[64:ff9b::127.0.0.1]",
      "[64:ff9b:1::127.0.0.1]",
      "[2002:7f00:1::]",
      "[2001:0:7f00:1::]",
    ],
    ...[
      "user@127.0.0.1",
      "user:password@127.0.0.1",
      "hooks.example@127.0.0.1",
      "hooks.example%40@127.0.0.1",
      ":@127.0.0.1",
    ],
  ]
    .map((host) => `https://${host}:${port}/hook`)
    .concat([
      `https://127.0.0.1:${port}\\@hooks.example/`,
      `https://hooks.example\\@127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}#@hooks.example/`,
      `https:127.0.0.1:${port}/`,
      `https:/127.0.0.1:${port}/`,
      `https:///127.0.0.1:${port}/`,
      `https:\\\\127.0.0.1:${port}/`,
      `https://127.0.0.1\t:${port}/`,
      `https://127.0.0.1\n:${port}/`,
      `ht\ntps://127.0.0.1:${port}/`,
      ` https://127.0.0.1:${port}/`,
      `https://127.0.0.1:${port}/ `,
      `https://127.0.0.1:${port}/\u0000`,
      `http://127.0.0.1:${port}/`,
      `HTTP://127.0.0.1:${port}/`,
      `//127.0.0.1:${port}/`,
      `127.0.0.1:${port}/`,
      `ftp://127.0.0.1:${port}/`,
      `ws://127.0.0.1:${port}/`,
      `wss://127.0.0.1:${port}/`,
      `gopher://127.0.0.1:${port}/_`,
      `blob:https://127.0.0.1:${port}/`,
      `jar:https://127.0.0.1:${port}!/`,
    ]);

/** Other URLs that are not public receivers, and forms that are refused. */
export const OTHER_URLS = [
  "",
  "https://",
  "https://hooks.example/#fragment",
  "https://hooks.example/#",
  "https://user@hooks.example/",
  "https://user:password@hooks.example/",
  "http://hooks.example/",
  "file:///etc/passwd",
  "data:text/plain,x",
  "javascript:alert(1)",
  "unix:/run/assay.sock",
  "https://intranet/",
  "https://metadata/",
  "https://metadata.google.internal/computeMetadata/v1/",
  "https://printer.local/",
  "https://router.home.arpa/",
  "https://hooks.example./",
  "https://hooks.example:22/",
  "https://hooks.example:25/",
  "https://hooks.example:80/",
  "https://hooks.example:1023/",
  "https://hooks.example:0/",
  "https://hooks.example:99999/",
  "https://1.1.1.1:6/",
  "https://256.1.1.1/",
  "https://1.1.1.1.1/",
  "https://[fe80::1%25eth0]/",
  "https://[fe80::1%eth0]/",
  "https://[::1/",
  `https://hooks.example/${"x".repeat(2_048)}`,
];
