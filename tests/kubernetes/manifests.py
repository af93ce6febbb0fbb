"""The files of deploy/kubernetes, with the images of this run in them."""
import re


def text(options, name):
    with open(f"deploy/kubernetes/{name}") as file:
        found = file.read()
    found = re.sub(r"image: debian:\S+", f"image: {options.image}", found)
    found = re.sub(r"image: testudo-gateway\b", f"image: {options.program_image}", found)
    return re.sub(r'program_image = "[^"]*"', f'program_image = "{options.program_image}"', found)


def apply(options, namespace, kubectl, name, change=lambda manifest: manifest):
    kubectl("apply", "-n", namespace, "-f", "-", text=change(text(options, name)))
