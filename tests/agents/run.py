"""Real agents drive the real server, and a scripted model drives the agents.

    run.py [AGENT...]

Each scenario asserts what reached the model. Scenarios run side by side; most of their time is spent waiting.
"""

import concurrent.futures
import re
import sys
import time
import traceback

import registration
import scenarios
from model import Model
from roster import AGENTS


def attempt(model, agent, scenario):
    """One line about the outcome, and whether it is good."""
    start = time.monotonic()
    try:
        scenario(model, agent)
    except AssertionError as failure:
        return f"{agent.name}, {scenario.__name__}: FAILED: {failure}", False
    except Exception:
        return f"{agent.name}, {scenario.__name__}: FAILED: {traceback.format_exc()}", False
    return f"{agent.name}, {scenario.__name__}: ok ({time.monotonic() - start:.0f} s)", True


def main(names):
    known = list(dict.fromkeys(agent.name for agent in AGENTS + registration.CLIENTS))
    if unknown := set(names) - set(known):
        sys.exit(f"no such agent: {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = [agent for agent in AGENTS if agent.name in names or not names]
    model = Model()
    # The long command first: its minute passes while the others run.
    pairs = [(agent, scenario) for scenario in scenarios.ALL for agent in chosen if scenario.applies(agent)]
    pairs += [(client, registration.keeps_what_the_client_wrote) for client in registration.CLIENTS
              if client.name in names or not names]
    good = True
    with concurrent.futures.ThreadPoolExecutor(len(chosen) + 2) as pool:
        outcomes = [pool.submit(attempt, model, agent, scenario) for agent, scenario in pairs]
        for outcome in concurrent.futures.as_completed(outcomes):
            line, ok = outcome.result()
            print(re.sub(r"\n", "\n    ", line), flush=True)
            good = good and ok
    return 0 if good else 1


sys.exit(main(sys.argv[1:]))
