// Tells the person that a question waits: in the title, and with a sound.

const NAME = 'testudo';
let waiting = 0;
let audio = null;
let blink = false;

const soundButton = document.getElementById('sound');
let soundOn = localStorage.getItem('sound') !== 'off';

function showSound() {
  soundButton.setAttribute('aria-pressed', String(soundOn));
  soundButton.textContent = soundOn ? 'Sound on' : 'Sound off';
}

soundButton.addEventListener('click', () => {
  soundOn = !soundOn;
  localStorage.setItem('sound', soundOn ? 'on' : 'off');
  showSound();
  if (soundOn) ring();
});
showSound();

// Browsers allow sound only after the person has done something on the page.
for (const event of ['pointerdown', 'keydown']) {
  addEventListener(event, () => { audio ??= new AudioContext(); }, { once: true });
}

function ring() {
  if (!soundOn || !audio) return;
  // Browsers suspend the sound of a page that was silent in the background.
  audio.resume();
  [[660, 0], [880, 0.14]].forEach(([pitch, after]) => {
    const [tone, volume] = [audio.createOscillator(), audio.createGain()];
    const begin = audio.currentTime + after;
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(0.12, begin);
    volume.gain.exponentialRampToValueAtTime(0.001, begin + 0.3);
    tone.connect(volume).connect(audio.destination);
    tone.start(begin);
    tone.stop(begin + 0.3);
  });
}

/** So many questions wait now. `isNew` if there is one that was not there before. */
export function questionsWait(count, isNew) {
  waiting = count;
  if (isNew) ring();
  showTitle();
}

function showTitle() {
  const questions = waiting === 1 ? '1 question' : `${waiting} questions`;
  if (waiting === 0) document.title = NAME;
  else document.title = document.hidden && blink ? `● ${NAME}` : `(${questions}) ${NAME}`;
}

setInterval(() => {
  blink = !blink;
  if (waiting > 0) showTitle();
}, 1000);
