"""A run whose logs hold secrets and names in every form that was thought of, and what of it must not be found again."""

from __future__ import annotations

import json
from pathlib import Path

AWS_ID, AWS_KEY = "AKIAQ7XZLM3PKD5RTW2V", "wJqlrXUtnFEMx/K7MDENGbPxRfiCYzzQ9fLkeyZ1"
KEY_LINES = (
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAABlwAAAAdzc2gt",
    "cnNhAAAAAwEAAQAAAYEAu0ZQkKzvWq3TtHh1xR0aPnVbLqXeYc8mJ2dFwGsTz5oIuBaN",
    "QkdZ9Jm2rTz1AA==",
)
ORPHAN = "MIIEpAIBAAKCAQEA3Tz5vQqWcLkR9sYbXnHdJfGmUoPiEaZxCvBnMlKjHgFdSaQw"

SECRETS: dict[str, str] = {
    AWS_ID: f"AWS_ACCESS_KEY_ID={AWS_ID}",
    AWS_KEY: f"export AWS_SECRET_ACCESS_KEY={AWS_KEY}",
    "hf_QwErTyUiOpAsDfGhJkLzXcVbNm12345678": "token hf_QwErTyUiOpAsDfGhJkLzXcVbNm12345678 is valid",
    "9f8e7d6c5b4a39281706f5e4d3c2b1a098765432": "wandb login 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432",
    "1a2b3c4d5e6f70819203a4b5c6d7e8f901234567": "WANDB_API_KEY=1a2b3c4d5e6f70819203a4b5c6d7e8f901234567",
    "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8": "remote: ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "github_pat_11ABCDEFG0abcdefghij_KLMNOPqrst": "using github_pat_11ABCDEFG0abcdefghij_KLMNOPqrst",
    "glpat-xY7zAbCdEfGhIjKlMnOp": "GITLAB glpat-xY7zAbCdEfGhIjKlMnOp",
    "xoxb-123456789012-abcdefGHIJKL": "slack xoxb-123456789012-abcdefGHIJKL",
    "sk-proj-abc123DEF456ghi789JKL012": "OPENAI sk-proj-abc123DEF456ghi789JKL012",
    "AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q": "google AIzaSyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q",
    "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==": "AccountName=x;AccountKey=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==;",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N": "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "p4ss@w0rd!x": "pulling https://bob:p4ss@w0rd!x@registry.corp.example.com/x",
    "hunter2secret": "mysql --password hunter2secret --verbose",
    "Tr0ub4dor3": 'login ok {"password": "Tr0ub4dor3"}',
    "a9X8b7C6d5E4f3": "export KEY=a9X8b7C6d5E4f3",
    "q1W2e3R4t5Y6u7": "export DEPLOY_KEY='q1W2e3R4t5Y6u7'",
    "dXNlcjpwYXNzd29yZDEyMw==": "Authorization: Basic dXNlcjpwYXNzd29yZDEyMw==",
    "nvapi-AbCdEfGhIjKlMnOpQrStUv123": "NGC nvapi-AbCdEfGhIjKlMnOpQrStUv123",
    "Zk3uXh7eYq0vBn2mLw": "root:$6$Zk3uXh7eYq0vBn2mLw$aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW:19000:0:99999:7:::",
    "hf_HiddenByColour1234567890ab": "token hf_Hidden\x1b[1mByColour1234567890ab",
    KEY_LINES[0]: "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "\n".join(KEY_LINES) + "\n-----END OPENSSH PRIVATE KEY-----",
    KEY_LINES[1]: "",
    KEY_LINES[2]: "",
    ORPHAN: f"[rank0]: {ORPHAN}",
}  # fmt: skip
"""What must be masked -> a line that holds it."""

NAMES: dict[str, str] = {
    "zephyr07": "SLURMD_NODENAME=zephyr07",
    "zephyr12": "zephyr12:4100:4160 [3] NCCL INFO Bootstrap : Using eth0",
    "zephyr13": "srun: error: zephyr13: task 3: Exited with exit code 1",
    "zephyr14": "slurmstepd: error: *** STEP 4812.0 ON zephyr14 CANCELLED AT 2026-12-01T10:00:00 ***",
    "quokka-login2": "ssh: connect to host quokka-login2 port 22: Connection refused",
    "lyrebird": "  host      : lyrebird",
    "wombat001": "SLURM_JOB_NODELIST=wombat[001-004,0017]",
    "wombat003": "torchrun: node wombat003 joined",
    "wombat[": "",
    "bilby-a1.hpc.quollcorp.com": "MASTER_ADDR=bilby-a1.hpc.quollcorp.com",
    "quollcorp": "resolved api.quollcorp.com",
    "numbat9": "[E1201 socket.cpp:957] [c10d] The client socket has failed to connect to [numbat9]:29500",
    "ip-10-44-3-9": "Running on ip-10-44-3-9",
    "10.44.3.9": "peer 10.44.3.9 closed",
    "172.31.250.77": "NET/Socket : Using [0]eth0:172.31.250.77<0>",
    "fe80::1ff:fe23:4567:890a": "inet6 fe80::1ff:fe23:4567:890a scope link",
    "2001:db8:85a3::8a2e:370:7334": "connect to 2001:db8:85a3::8a2e:370:7334 failed",
    "a4:bf:01:7c:9d:3e": "HWaddr a4:bf:01:7c:9d:3e up",
    "jqmcgee": "cd /home/jqmcgee/runs",
    "tzvetana": "loading /lustre/fsw/teams/users/tzvetana/ckpt/model.pt",
    "okonkwo.b": "mail to okonkwo.b@quollcorp.com",
    "rfarquhar": "uid=10492(rfarquhar) gid=500(ferretgrp) groups=500(ferretgrp),731(otterproj)",
    "ferretgrp": "",
    "otterproj": "",
    "dvanhalen": "srun: error: job denied for user dvanhalen",
    "xiulan": "USER=xiulan",
    "pkowalczyk": "pkowalczyk@quokka-login2:~$ sbatch run.sh",
    "mbappekylian": "wandb: Currently logged in as: mbappekylian (team-axolotl)",
    "team-axolotl": "",
    "acct_narwhal": "#SBATCH --account=acct_narwhal",
    "part-ibex": "SLURM_JOB_PARTITION=part-ibex",
    "yeti-pretrain-v3": "SLURM_JOB_NAME=yeti-pretrain-v3",
    "platypusai": "git remote git@github.com:platypusai/secretlm.git",
    "secretlm": "fetched https://github.com/platypusai/secretlm",
    "projdingo": 'FileNotFoundError: [Errno 2] No such file or directory: "/projdingo/data/x.bin"',
    "kdubois": "~kdubois/bin is not on PATH",
    "UserIdName": "UserId=UserIdName(1001) GroupId=ferretgrp(500)",
    "kclstr": "ClusterName=kclstr",
}
"""What must be replaced -> a line that states it."""

FAILURE = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/jqmcgee/runs/projdingo/pretrain_gpt.py", line 300, in <module>
[rank3]:     pretrain()
[rank3]:   File "/home/jqmcgee/envs/mcore/lib/python3.12/site-packages/megatron/core/tensor_parallel/layers.py", line 488, in forward
[rank3]:     output = torch.matmul(total_input, weight.t())
[rank3]: RuntimeError: mat1 and mat2 shapes cannot be multiplied (128x64 and 56x128)
"""

AGAIN = "said by jqmcgee and tzvetana of acct_narwhal: zephyr07 (zephyr07.hpc.quollcorp.com), xiulan's yeti-pretrain-v3.\\nlyrebird too"
"""Names once more, where nothing says that they are names."""


def plant(folder: Path) -> None:
    """Logs, an error file and a launch manifest that hold all of it, and file names that hold some."""
    lines = [*SECRETS.values(), *NAMES.values(), AGAIN]
    (folder / "jqmcgee").mkdir(parents=True)
    text = "".join(f"{line}\n" for line in lines if line)
    (folder / "yeti-pretrain-v3-4812-zephyr07-3.err").write_text(text + FAILURE)
    (folder / "jqmcgee" / "rank-0.out").write_text("".join(f"[rank0]: {line}\n" for line in lines if line))
    manifest = {
        "schema": "triage.launch/1", "host": "zephyr12", "node_rank": 0, "nodes": 1, "processes_per_node": 8,
        "directory": "/home/jqmcgee/runs", "command": ["torchrun", "/home/jqmcgee/x.py", "--api-key", "k9J8h7G6f5D4"],
        "environment": {"USER": "xiulan", "API_TOKEN": "k9J8h7G6f5D4", "MASTER_ADDR": "bilby-a1.hpc.quollcorp.com"},
        "versions": {"torch": "2.13.0", "python": "3.12.4"},
    }  # fmt: skip
    (folder / "launch.json").write_text(json.dumps(manifest))
    error = {
        "message": {
            "message": "boom",
            "extraInfo": {"py_callstack": f"at\n{AGAIN}\nUSER=xiulan", "timestamp": "1"},
        }
    }
    (folder / "zephyr07-error.json").write_text(json.dumps(error))
