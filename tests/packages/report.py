"""One line for each promise, and the evidence where it does not hold."""
import subprocess

failures = []


def check(name, right, evidence=""):
    print(f"{'ok   ' if right else 'WRONG'} {name}", flush=True)
    if not right:
        failures.append(name)
        print(evidence, flush=True)


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
