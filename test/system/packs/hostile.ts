/** Programs for a shell that the program of each pack starts as `attack.sh`: the box is the same for all. */

const tries = [
  // Each must fail: its words would be on standard output.
  ...["/", "/usr/bin", "/etc", "/opt", "/var/tmp", "/proc/1", "/dev"].map(
    (place) => `(echo x >"${place}/new") 2>/dev/null && echo "wrote in ${place}"`,
  ),
  "ln -s /etc/passwd link && (echo x >>link) 2>/dev/null && echo 'wrote through a link'",
  "mkdir inner && mount -t tmpfs none inner 2>/dev/null && echo mounted",
  "chroot . /bin/true 2>/dev/null && echo 'changed its root'",
  "unshare --user true 2>/dev/null && echo 'made a user namespace'",
  "cat /etc/shadow /proc/1/environ /proc/1/maps 2>/dev/null | grep -q . && echo 'read files of others'",
  "ls /proc/1/root/ /proc/1/cwd/ /var/lib/assay /root /home 2>/dev/null | grep -q . && echo 'listed directories of others'",
  `python3 -c 'import socket; socket.create_connection(("1.1.1.1", 53), 2)' 2>/dev/null && echo connected`,
  `python3 -c 'import socket; socket.create_connection(("127.0.0.1", 22), 2)' 2>/dev/null && echo 'connected to the host'`,
  "find / -xdev -perm /6000 2>/dev/null | grep . && echo 'found a set-uid program'",
  "find / -xdev -writable ! -type l ! -path '/box*' ! -path '/tmp*' ! -path '/proc*' ! -path '/dev*' 2>/dev/null | grep . && echo 'found a writable file'",
];

export const HOSTILE = {
  forkBomb: "while :; do sleep 60 & done\n",
  leave: `${tries.join("\n")}\necho 'every try failed'\n`,
  failed: "every try failed\n",
};
