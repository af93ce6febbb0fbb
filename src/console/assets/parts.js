// The parts of a list that is too long for the page. A part is loaded when one of its items is wanted.

export class Parts {
  /** `load(number)` gets the items of a part, and `onLoaded()` is called afterwards. At most `most` parts are kept. */
  constructor({ size, most, load, onLoaded }) {
    Object.assign(this, { size, most, load, onLoaded });
    this.loaded = new Map();
    this.loading = new Map();
    this.generation = 0;
  }

  /** `undefined` while it is being loaded. */
  get(index) {
    const number = Math.floor(index / this.size);
    if (!this.loaded.has(number)) this.fetch(number);
    return this.loaded.get(number)?.[index % this.size];
  }

  set(number, items) {
    this.loaded.delete(number);
    this.loaded.set(number, items);
    if (this.loaded.size > this.most) this.loaded.delete(this.loaded.keys().next().value);
  }

  clear() {
    this.generation += 1;
    this.loaded.clear();
    this.loading.clear();
  }

  /** Loads a part, even if it is there already. What comes after a `clear` is dropped. */
  fetch(number) {
    const under = this.loading.get(number);
    if (under) return under;
    const mine = this.generation;
    const fetching = this.load(number).then((items) => {
      if (mine !== this.generation) return;
      this.set(number, items);
      this.onLoaded();
    }, () => {}).finally(() => {
      if (this.loading.get(number) === fetching) this.loading.delete(number);
    });
    this.loading.set(number, fetching);
    return fetching;
  }
}
